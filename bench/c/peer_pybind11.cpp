// A function that takes an array, as pybind11 makes it.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

PYBIND11_MODULE(peer_pybind11, m) {
  m.def("array", [](const py::array_t<double> &) {});
}
