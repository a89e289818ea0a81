"""Compiles the peers that are C++ extensions, with the headers that their wheels carry. A peer that cannot be had is
a reason, a text, instead."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig


def _compile(name, sources, includes, folder, version):
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        return "no C++ compiler"
    headers = sysconfig.get_paths()["include"]
    if not os.path.exists(os.path.join(headers, "Python.h")):
        return "no Python.h in " + headers
    tag = "%s-%s" % (version, sysconfig.get_config_var("EXT_SUFFIX"))
    path = os.path.join(folder, "%s-%s" % (name, tag.lstrip("-")))
    newest = max(os.path.getmtime(source) for source in sources)
    if not os.path.exists(path) or os.path.getmtime(path) < newest:
        os.makedirs(folder, exist_ok=True)
        command = [compiler, "-std=c++17", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden",
                   "-fno-strict-aliasing", "-o", path + ".new"]
        command += ["-I" + include for include in [headers] + includes] + sources
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "error" in line]
            return "the compiler says: " + (lines or ["nothing"])[0][:120]
        os.replace(path + ".new", path)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nanobind(c_folder, folder):
    try:
        import nanobind
    except ImportError:
        return "nanobind is not installed"
    root = os.path.dirname(nanobind.__file__)
    sources = [os.path.join(root, "src", "nb_combined.cpp"), os.path.join(c_folder, "peer_nanobind.cpp")]
    includes = [os.path.join(root, "include"), os.path.join(root, "ext", "robin_map", "include")]
    return _compile("peer_nanobind", sources, includes, folder, nanobind.__version__)


def pybind11(c_folder, folder):
    try:
        import pybind11
    except ImportError:
        return "pybind11 is not installed"
    return _compile("peer_pybind11", [os.path.join(c_folder, "peer_pybind11.cpp")], [pybind11.get_include()], folder,
                    pybind11.__version__)


def module(name):
    """An installed module, or why not."""
    try:
        __import__(name)
        return sys.modules[name]
    except Exception as error:  # a broken wheel is a reason too
        return "%s: %s" % (type(error).__name__, str(error).splitlines()[0][:100])


def version(name):
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
