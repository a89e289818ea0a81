/* image.h: code as it comes from files and strings: PTX text, cubins, fatbins. */
#ifndef XCHG_CUDA_IMAGE_H
#define XCHG_CUDA_IMAGE_H

#include <stddef.h>

#include "core/error.h"

enum { XCHG_IMAGE_PTX = 1, XCHG_IMAGE_CUBIN = 2, XCHG_IMAGE_FATBIN = 3 };

/* What an image is, or an error. Drivers read an image's length out of its own header, and believe it: whatever would
 * lead them past the end is refused here. */
int xchg__image_check(const char *image, size_t size, xchg_error *err);

#endif
