/* The formats that minifloat_encode and minifloat_decode know, as their op->bits. */
#ifndef SIM_EXEC_MINIFLOAT_H
#define SIM_EXEC_MINIFLOAT_H

enum { SIM_E4M3, SIM_E5M2, SIM_E2M3, SIM_E3M2, SIM_E2M1 };

#endif
