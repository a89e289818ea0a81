// Functions that take an array, as nanobind makes them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

NB_MODULE(peer_nanobind, m) {
  m.def("any", [](const nb::ndarray<> &) {});
  m.def("typed", [](const nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu> &) {});
}
