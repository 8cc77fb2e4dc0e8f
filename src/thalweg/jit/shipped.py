"""Compiled code that comes with the package: made when a wheel is built, for one Python, one Numba and x86-64-v3.

``thalweg/_code`` holds the folders that the cache of compiled code would hold, named by the same hash of the sources,
and ``made_for.json``, which says what the code was made with. It is used where all of that is the same here, and the
processor has all that x86-64-v3 has; anything else is compiled as if nothing had been shipped. It is as trustworthy as
the package's other files: whoever can change it can change those.

The bitcode, which is needed only to link a routine into another one, is left out: two thirds of the size. A routine
that compiled code calls is therefore compiled, not taken from here.

    python -m thalweg.jit.shipped CACHE FOLDER        # pack what is in a cache
"""

import json
import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
import numpy as np

FOLDER = Path(__file__).resolve().parent.parent / "_code"
CPU = "x86-64-v3"
NEEDED = (
    "cmov", "cx16", "cx8", "fxsr", "mmx", "sahf", "sse", "sse2", "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "crc32",
    "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave",
)  # fmt: skip
"""What a processor of that level has, in LLVM's words."""
FEATURES = ",".join(f"+{feature}" for feature in NEEDED)
CHANGING = "BOUNDSCHECK", "CPU_FEATURES", "CPU_NAME", "DEBUG", "DEBUGINFO", "ENABLE_AVX", "OPT"
"""Settings of Numba (``NUMBA_…``) that change code: with one of them, code is compiled here."""


def making() -> dict[str, str]:
    """Give the settings for a process that compiles code to be shipped."""
    return {"NUMBA_CPU_NAME": CPU, "NUMBA_CPU_FEATURES": FEATURES, "THALWEG_SHIPPED": "0"}


def here() -> dict[str, str]:
    """Say what compiled code is made with here."""
    return {
        "numba": numba.__version__, "llvmlite": llvmlite.__version__, "numpy": ".".join(np.__version__.split(".")[:2]),
        "python": str(sys.implementation.cache_tag), "triple": llvm.get_process_triple(), "cpu": CPU,
    }  # fmt: skip


@cache
def folder() -> Path | None:
    """Give the folder of shipped code that can be used here; None: there is none."""
    if os.environ.get("THALWEG_SHIPPED") == "0" or any(f"NUMBA_{name}" in os.environ for name in CHANGING):
        return None
    try:
        made_for = json.loads((FOLDER / "made_for.json").read_text())
        features = llvm.get_host_cpu_features()
        if made_for == here() and all(features.get(feature, False) for feature in NEEDED):
            return FOLDER
    except (OSError, ValueError, RuntimeError):
        pass
    return None


def magic() -> tuple[str, str, str]:
    """Give what stands for the processor in the keys of shipped code."""
    return llvm.get_process_triple(), CPU, FEATURES


# -- packing ----------------------------------------------------------------------------------------------------------


def stub(bitcode: bytes, wrapper: str) -> bytes:
    """Give bitcode in which the wrapper that Python calls is there by name only, and nothing else is."""
    name = wrapper.replace("\\", "\\5c").replace('"', "\\22")
    module = llvm.parse_assembly(f'define void @"{name}"() {{ ret void }}')
    module.triple, module.data_layout = llvm.get_process_triple(), llvm.parse_bitcode(bitcode).data_layout
    return bytes(module.as_bitcode())


def stripped(code: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give compiled code, in Numba's form, without bitcode and annotations."""
    (name, kind, (machine_code, bitcode)), described, *rest = code
    assert kind == "object"
    library = name, kind, (machine_code, stub(bitcode, described.llvm_cpython_wrapper_name))
    rest[4] = ""  # the annotation of types, for people to read
    return library, described, *rest


def pack(cache_home: Path, target: Path) -> int:
    """Write what is in a cache, made with the settings of ``making``, to a folder; give the number of routines."""
    from thalweg.jit.code_cache import read, written

    routines = 0
    for path in sorted(cache_home.glob("compiled-*/*.nbc")):
        key, code = read(path)
        if key[1] != magic():
            raise ValueError(f"{path} was made for {key[1]}, not for {CPU}")
        (target / path.parent.name).mkdir(parents=True, exist_ok=True)
        (target / path.parent.name / path.name).write_bytes(written(key, stripped(code)))
        routines += 1
    (target / "made_for.json").write_text(json.dumps(here(), indent=1))
    return routines


if __name__ == "__main__":
    if platform.machine() != "x86_64" or numba.config.CPU_NAME != CPU:
        sys.exit(f"code is shipped for {CPU}: set {making()}")
    print(f"{pack(Path(sys.argv[1]) / 'thalweg', Path(sys.argv[2]))} routines packed")
