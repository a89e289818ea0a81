/* Access of devices to each other's memory. */
#include "front.h"

static int peer_can(int *can, int device, int peer) {
  return can ? sim_peer_can_access(device, peer, can) : SIM_INVALID_VALUE;
}

static int peer_set(int peer, unsigned flags, bool enable) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  return enable ? sim_peer_enable(context, peer, flags) : sim_peer_disable(context, peer);
}

enum { PEER_RANK = 1, PEER_ACCESS, PEER_ATOMICS, PEER_ARRAYS };

static int peer_attribute(int *value, int attribute, int device, int peer) {
  if (!value || attribute < PEER_RANK || attribute > PEER_ARRAYS)
    return SIM_INVALID_VALUE;
  if (device == peer)
    return SIM_INVALID_DEVICE;
  int can;
  int result = sim_peer_can_access(device, peer, &can);
  if (!result)
    *value = attribute == PEER_ACCESS ? can : 0;
  return result;
}

SIM_RUNTIME(cudaDeviceCanAccessPeer, SIM_CALL_PLAIN, (int *can, int device, int peer), peer_can(can, device, peer));
SIM_RUNTIME(cudaDeviceEnablePeerAccess, SIM_CALL_PLAIN, (int peer, unsigned flags), peer_set(peer, flags, true));
SIM_RUNTIME(cudaDeviceDisablePeerAccess, SIM_CALL_PLAIN, (int peer), peer_set(peer, 0, false));
SIM_RUNTIME(cudaDeviceGetP2PAttribute, SIM_CALL_PLAIN, (int *value, int attribute, int device, int peer),
            peer_attribute(value, attribute, device, peer));
