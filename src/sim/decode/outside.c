/* What the simulated device does not model, by what it belongs to. */
#include "decode.h"

void sim_decode_outside(sim_decoder *decoder, const ptx_instruction *instruction) {
  const char *what;
  switch (instruction->opcode) {
  case PTX_OP_TEX:
  case PTX_OP_TLD4:
  case PTX_OP_TXQ:
  case PTX_OP_ISTYPEP: what = "textures"; break;
  case PTX_OP_SULD:
  case PTX_OP_SUST:
  case PTX_OP_SURED:
  case PTX_OP_SUQ: what = "surfaces"; break;
  case PTX_OP_TENSORMAP: what = "tensor maps"; break;
  case PTX_OP_MULTIMEM: what = "multicast operations"; break;
  case PTX_OP_MAPA:
  case PTX_OP_GETCTARANK:
  case PTX_OP_CLUSTERLAUNCHCONTROL: what = "clusters"; break;
  case PTX_OP_WMMA:
  case PTX_OP_MMA:
  case PTX_OP_LDMATRIX:
  case PTX_OP_STMATRIX:
  case PTX_OP_MOVMATRIX:
  case PTX_OP_WGMMA:
  case PTX_OP_TCGEN05:
  default: what = "tensor cores";
  }
  sim_decode_fail(decoder, "%s are out of the simulated device's scope", what);
}
