/* The handlers of video.c. */
#ifndef SIM_EXEC_VIDEO_LIST_H
#define SIM_EXEC_VIDEO_LIST_H

// clang-format off
#define SIM_VIDEO_HANDLERS(X) \
  X(vadd) X(vsub) X(vabsdiff) X(vmin) X(vmax) X(vshl) X(vshr) X(vset) X(vmad) X(vadd_parts) X(vsub_parts) \
  X(vavrg_parts) X(vabsdiff_parts) X(vmin_parts) X(vmax_parts) X(vset_parts)
// clang-format on

#endif
