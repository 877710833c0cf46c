"""Builds what use_cython.py and use_pybind11.py need, as far as Cython and pybind11 are there."""
import setuptools

extensions = []
try:
    from Cython.Build import cythonize
    extensions += cythonize("cythonized.pyx")
except ImportError:
    pass
try:
    from pybind11.setup_helpers import Pybind11Extension
    extensions.append(Pybind11Extension("bound", ["bound.cc"], cxx_std=17))
except ImportError:
    pass
setuptools.setup(name="bound", ext_modules=extensions, py_modules=[])
