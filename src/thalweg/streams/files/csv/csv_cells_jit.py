"""Where cells begin and end: text is read by its address, 32 bytes in one step.

Whoever calls keeps 64 bytes that may be read in front of the text and behind it. Each of the first functions is one
or two instructions of the processor; as Python it says what they do, and runs where compiling is turned off.
"""

import ctypes
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from thalweg.jit.compile import called, inlined

PADDING = 64  # bytes around the text that may be read

_U = np.uint64
_ZERO, _LOW, _HIGH = _U(0), _U(0x0101010101010101), _U(0x8080808080808080)
_LF, _CR = _U(0x0A0A0A0A0A0A0A0A), _U(0x0D0D0D0D0D0D0D0D)


def peek1(address: Any) -> int:
    """Read the byte at an address."""
    return ctypes.c_uint8.from_address(int(address)).value


def peek8(address: Any) -> np.uint64:
    """Read the eight bytes from an address on."""
    return np.uint64(ctypes.c_uint64.from_address(int(address)).value)


def poke(address: Any, value: float) -> None:
    """Write a double to an address."""
    ctypes.c_double.from_address(int(address)).value = value


def ends(address: Any, delimiter: int) -> np.uint64:
    """Mark as bits which of 32 bytes may end a cell: the delimiter, and all below 14, as ends of lines; set bit 32."""
    return np.uint64(sum(1 << k for k in range(32) if (b := peek1(address + k)) == delimiter or b < 14) | 1 << 32)


def equals(address: Any, byte: int) -> np.uint64:
    """Mark which of 32 bytes are this one, as bits."""
    return np.uint64(sum(1 << k for k in range(32) if peek1(address + k) == byte))


def digits(end: Any, point: Any, after: Any, n: Any) -> tuple[Any, Any, Any, Any]:
    """Give 1 where the last n ≤ 24 bytes up to an address are not digits, and the values of the last 3 times eight.

    point: 1: a point stands before the ``after`` last ones; it is no digit.
    """
    n, point = int(n), int(point)
    text = ctypes.string_at(int(end) - n - point, n + point)
    text = text[: n - after] + text[n + point - after :]
    if not all(48 <= b <= 57 for b in text):
        return _U(1), _ZERO, _ZERO, _ZERO
    text = text.rjust(24, b"0")
    return _ZERO, _U(int(text[:8])), _U(int(text[8:16])), _U(int(text[16:]))


def low_zeros(a: np.uint64) -> int:
    """Count the zero bits below the lowest one; 64: there is none."""
    return (int(a) & -int(a)).bit_length() - 1 if a else 64


def high_zeros(a: np.uint64) -> int:
    """Count the zero bits above the highest one."""
    return 64 - int(a).bit_length()


def upper(a: np.uint64, b: np.uint64) -> np.uint64:
    """Give the upper half of a product of 128 bits."""
    return np.uint64((int(a) * int(b)) >> 64)


if not numba.config.DISABLE_JIT:
    from llvmlite import ir  # type: ignore[import-untyped]

    _BYTES = ir.VectorType(ir.IntType(8), 32)
    _WIDE = ir.IntType(128)

    def _load(builder: Any, address: Any) -> Any:
        return builder.load(builder.inttoptr(address, _BYTES.as_pointer()), align=1)

    def _alike(builder: Any, byte: Any) -> Any:
        """Fill a vector with one byte."""
        one = builder.insert_element(
            ir.Constant(_BYTES, ir.Undefined), builder.trunc(byte, ir.IntType(8)), cgutils.int32_t(0)
        )
        order = ir.Constant(ir.VectorType(cgutils.int32_t, 32), [0] * 32)
        return builder.shuffle_vector(one, one, order)

    def _as_bits(builder: Any, marks: Any) -> Any:
        return builder.zext(builder.bitcast(marks, cgutils.int32_t), cgutils.intp_t)

    @intrinsic  # type: ignore[untyped-decorator]
    def peek1(_: Any, address: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            byte = builder.load(builder.inttoptr(args[0], cgutils.int8_t.as_pointer()))
            return builder.zext(byte, cgutils.intp_t)

        return types.int64(types.int64), code

    @intrinsic  # type: ignore[untyped-decorator]
    def peek8(_: Any, address: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.load(builder.inttoptr(args[0], cgutils.intp_t.as_pointer()), align=1)

        return types.uint64(types.int64), code

    @intrinsic  # type: ignore[untyped-decorator]
    def poke(_: Any, address: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.store(args[1], builder.inttoptr(args[0], ir.DoubleType().as_pointer()))
            return context.get_dummy_value()

        return types.void(types.int64, types.float64), code

    @intrinsic  # type: ignore[untyped-decorator]
    def ends(_: Any, address: Any, delimiter: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            text = _load(builder, args[0])
            low = builder.icmp_unsigned("<", text, ir.Constant(_BYTES, [14] * 32))
            bits = _as_bits(builder, builder.or_(low, builder.icmp_unsigned("==", text, _alike(builder, args[1]))))
            return builder.or_(bits, cgutils.intp_t(1 << 32))

        return types.uint64(types.int64, types.int64), code

    @intrinsic  # type: ignore[untyped-decorator]
    def equals(_: Any, address: Any, byte: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            text = _load(builder, args[0])
            return _as_bits(builder, builder.icmp_unsigned("==", text, _alike(builder, args[1])))

        return types.uint64(types.int64, types.int64), code

    @intrinsic  # type: ignore[untyped-decorator]
    def digits(_: Any, end: Any, point: Any, after: Any, n: Any) -> Any:
        """Join those before the point, from one byte earlier, to those after it; then add up pairs, fours, eights."""
        pairs, fours, eights = (ir.VectorType(ir.IntType(256 // k), k) for k in (16, 8, 4))

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            end, point, after, n = args
            begin = builder.sub(end, cgutils.intp_t(32))
            late, early = _load(builder, begin), _load(builder, builder.sub(begin, point))
            far = ir.Constant(_BYTES, [*range(31, -1, -1)])  # of each byte, how many come behind it
            t = builder.select(builder.icmp_unsigned("<", far, _alike(builder, after)), late, early)
            t = builder.sub(t, ir.Constant(_BYTES, [48] * 32))
            none = ir.Constant(_BYTES, [0] * 32)
            t = builder.select(builder.icmp_unsigned("<", far, _alike(builder, n)), t, none)
            wrong = _as_bits(builder, builder.icmp_unsigned(">", t, ir.Constant(_BYTES, [9] * 32)))
            t = builder.bitcast(t, pairs)
            t = builder.add(builder.mul(t, pairs([10] * 16)), builder.lshr(t, pairs([8] * 16)))
            t = builder.and_(t, pairs([255] * 16))
            t = builder.bitcast(builder.mul(t, pairs([100, 1] * 8)), fours)
            t = builder.and_(builder.add(t, builder.lshr(t, fours([16] * 8))), fours([0xFFFF] * 8))
            t = builder.bitcast(t, eights)
            low = builder.and_(t, eights([0xFFFFFFFF] * 4))
            t = builder.add(builder.mul(low, eights([10_000] * 4)), builder.lshr(t, eights([32] * 4)))
            parts = [builder.extract_element(t, cgutils.int32_t(k)) for k in (1, 2, 3)]
            return context.make_tuple(builder, signature.return_type, [wrong, *parts])

        four = types.UniTuple(types.uint64, 4)  # type: ignore[attr-defined]
        return four(types.int64, types.int64, types.int64, types.int64), code

    @intrinsic  # type: ignore[untyped-decorator]
    def low_zeros(_: Any, a: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.cttz(args[0], cgutils.false_bit)

        return types.int64(types.uint64), code

    @intrinsic  # type: ignore[untyped-decorator]
    def high_zeros(_: Any, a: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.ctlz(args[0], cgutils.false_bit)

        return types.int64(types.uint64), code

    @intrinsic  # type: ignore[untyped-decorator]
    def upper(_: Any, a: Any, b: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            product = builder.mul(builder.zext(args[0], _WIDE), builder.zext(args[1], _WIDE))
            return builder.trunc(builder.lshr(product, _WIDE(64)), cgutils.intp_t)

        return types.uint64(types.uint64, types.uint64), code


@inlined
def cell_end(i: int, delimiter: np.uint64) -> int:
    """Give where an unquoted cell ends: at a delimiter, a line feed or a carriage return."""
    while True:
        v = peek8(i)
        a, b, c = v ^ delimiter, v ^ _LF, v ^ _CR
        marks = (((a - _LOW) & ~a) | ((b - _LOW) & ~b) | ((c - _LOW) & ~c)) & _HIGH
        if marks != _ZERO:
            return i + (low_zeros(marks) >> 3)
        i += 8


@called
def is_text(i: int, end: int) -> bool:
    """Is it UTF-8 without a zero byte?"""
    while i < end:
        b = peek1(i)
        i += 1
        if b == 0:
            return False
        if b < 0x80:
            continue
        if b < 0xC2 or b > 0xF4:
            return False
        more = 1 if b < 0xE0 else 2 if b < 0xF0 else 3
        if i + more > end:
            return False
        low, high = 0x80, 0xBF
        if b == 0xE0:
            low = 0xA0
        elif b == 0xED:
            high = 0x9F
        elif b == 0xF0:
            low = 0x90
        elif b == 0xF4:
            high = 0x8F
        for k in range(more):
            c = peek1(i + k)
            if c < low or c > high:
                return False
            low, high = 0x80, 0xBF
        i += more
    return True


@called
def unquote(i: int, end: int, quote: int, escape: int, spare: NDArray[np.uint8], to: int) -> tuple[int, int, int]:
    """Copy a quoted cell that opens at i without its quotes; give where it ends, the end of the copy, and lines passed.

    A doubled quote is one; so is an escaped one where there is an escape. -1: the block ends first.
    """
    i += 1
    lines = 0
    while i < end:
        b = peek1(i)
        if b == escape and i + 1 < end and escape >= 0:
            i += 1
            b = peek1(i)
        elif b == quote:
            if i + 1 < end and peek1(i + 1) == quote:
                i += 1
            else:
                return i + 1, to, lines
        lines += b == 10
        spare[to] = b
        to += 1
        i += 1
    return -1, to, lines
