# SPDX-License-Identifier: Apache-2.0
"""Arguments of a launch: what fits, what is refused and how the message says so."""

import struct
from types import SimpleNamespace

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs
from gpushare import _core
from gpushare.arguments.device_array import DeviceArray
from gpushare.kernels.argument_packing import pack
from gpushare.kernels.fast_packing import PackedLaunches
from gpushare.kernels.parameters import Parameter, parameter_types, parameters_of

SIZES = {"bool": 1, "char": 1, "unsigned char": 1, "short": 2, "int": 4, "unsigned int": 4, "float": 4, "double": 8}
SIZES |= {"long": 8, "unsigned long long": 8, "__half": 2, ".u8": 1, ".u32": 4, ".u64": 8, ".f32": 4}


class OnDevice:
    """What CuPy, Numba and PyTorch hand over."""

    def __init__(self, typestr="<f4", shape=(4,), strides=None, read_only=False, address=0x1234, **more):
        self.__cuda_array_interface__ = {
            "data": (address, read_only),
            "typestr": typestr,
            "shape": shape,
            "strides": strides,
            "version": 3,
            **more,
        }


def parameter_of(cpp_type):
    size = 8 if cpp_type.endswith("*") else SIZES[cpp_type]
    is_float = cpp_type in ("float", "double", "__half", ".f32")
    kind = "pointer" if cpp_type.endswith("*") else "float" if is_float else "integer"
    return Parameter(0, None, cpp_type, kind, size, 0)


def packed(cpp_type, value):
    return packed_both_ways(parameter_of(cpp_type), value)


def packed_quickly(cpp_type, value):
    return launched_with([parameter_of(cpp_type)], [value])


def packed_struct(value, size=8):
    return packed_both_ways(Parameter(0, None, "Pair", "struct", size, 0), value)


def packed_both_ways(parameter, value):
    """What the quick way says has to be what the thorough one says, refusals included."""
    thorough = content_or_refusal(lambda: pack("k", [parameter], [value]))
    quick = content_or_refusal(lambda: launched_with([parameter], [value]))
    assert repr(quick) == repr(thorough)
    if isinstance(quick, Exception):
        raise quick
    return quick[0]


def launches_with(parameters):
    """Launches of a kernel that is not loaded, as no GPU runs them."""
    return PackedLaunches(None, SimpleNamespace(name="k", parameters=parameters), (1, 1, 1), (1, 1, 1), 0)


def launched_with(parameters, arguments):
    return launches_with(parameters).of(tuple(arguments)).arguments


def content_or_refusal(pack_it):
    try:
        return pack_it()
    except gs.InvalidInput as refusal:
        return refusal


@pytest.mark.parametrize(
    ("cpp_type", "value", "expected"),
    [
        ("int", -2, struct.pack("<i", -2)),
        ("int", np.int32(7), struct.pack("<i", 7)),
        ("int", np.array(7, np.int32), struct.pack("<i", 7)),
        ("unsigned int", 2**32 - 1, b"\xff" * 4),
        ("long", -1, b"\xff" * 8),
        ("unsigned long long", 2**64 - 1, b"\xff" * 8),
        ("char", -128, b"\x80"),
        ("char", np.uint8(200), b"\xc8"),
        ("unsigned char", 255, b"\xff"),
        ("short", -2, struct.pack("<h", -2)),
        ("bool", True, b"\x01"),
        ("bool", np.bool_(True), b"\x01"),
        ("float", 0.1, struct.pack("<f", 0.1)),
        ("float", 3, struct.pack("<f", 3)),
        ("float", float("inf"), struct.pack("<f", float("inf"))),
        ("float", np.float32(0.1), np.float32(0.1).tobytes()),
        ("double", 0.1, struct.pack("<d", 0.1)),
        ("__half", 0.5, np.float16(0.5).tobytes()),
        ("__half", np.float16(0.5), np.float16(0.5).tobytes()),
        (".u32", -1, b"\xff" * 4),
        (".u32", 2**32 - 1, b"\xff" * 4),
        (".u32", np.int32(-1), b"\xff" * 4),
        (".u32", np.uint32(1), struct.pack("<I", 1)),
        (".u8", np.bool_(True), b"\x01"),
        (".u64", 5, struct.pack("<Q", 5)),
        (".u64", OnDevice(), struct.pack("<Q", 0x1234)),
        (".f32", np.float32(1), struct.pack("<f", 1)),
        ("float*", OnDevice(), struct.pack("<Q", 0x1234)),
        ("float*", None, bytes(8)),
        ("float const*", OnDevice(read_only=True), struct.pack("<Q", 0x1234)),
        ("void*", OnDevice("<i8"), struct.pack("<Q", 0x1234)),
        ("Pair*", OnDevice("|u1"), struct.pack("<Q", 0x1234)),
        ("float*", OnDevice(shape=(2, 3), strides=(12, 4)), struct.pack("<Q", 0x1234)),
        ("float*", OnDevice(shape=(2, 1), strides=(4, 400)), struct.pack("<Q", 0x1234)),
        ("float*", OnDevice(shape=(0, 3), strides=(1, 1), address=0), bytes(8)),
    ],
)
def test_fits(cpp_type, value, expected):
    assert packed(cpp_type, value) == expected


@pytest.mark.parametrize(
    ("cpp_type", "value", "named"),
    [
        ("int", 2**31, (2147483648, "-2147483648..2147483647")),
        ("unsigned int", -1, (-1, "0..4294967295")),
        ("char", 200, (200, "-128..127")),
        ("bool", 2, (2, "0..1")),
        (".u32", 2**32, "-2147483648..4294967295"),
        ("int", 1.0, "1.0"),
        ("int", "1", 1),
        ("int", np.int64(1), ("int32", "int64", 1)),
        ("int", np.float32(1), ("int32", "float32")),
        (".u32", np.float32(1), (4, "float32")),
        ("float", 1e39, ()),
        ("float", np.float64(1), ("float32", "float64")),
        ("float", True, ()),
        ("double", None, "None"),
        ("__half", 1e5, ()),
        ("float*", np.zeros(3, np.float32), "ndarray"),
        ("float*", 0x1234, ()),
        ("float*", [1.0], ()),
        ("float*", OnDevice("<f8"), ("float32", "float64")),
        ("unsigned char*", OnDevice("|i1"), "int8"),
        ("float*", OnDevice(read_only=True), ()),
        ("float*", OnDevice(shape=(2, 3), strides=(4, 8)), (2, 3)),
        ("float*", OnDevice(shape=(2,), strides=(8,)), ()),
        ("float*", OnDevice(mask=OnDevice()), "mask"),
        (".u64", np.zeros(3), ()),
    ],
)
def test_does_not_fit(cpp_type, value, named):
    with raises_naming(gs.InvalidInput, "k", 1, named):
        packed(cpp_type, value)


def test_array_that_refuses():
    class NeedsGradient:
        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad")

    with raises_naming(gs.InvalidInput, 1):
        packed("float*", NeedsGradient())


def test_structs():
    pair = np.dtype([("a", "<i4"), ("b", "<f4")])
    value = np.array((1, 2.0), pair)
    assert packed_struct(value) == packed_struct(value[()]) == packed_struct(value.tobytes()) == value.tobytes()
    with raises_naming(gs.InvalidInput, 8, 4):
        packed_struct(b"1234")
    with raises_naming(gs.InvalidInput, 8, "NumPy"):
        packed_struct((1, 2.0))


def test_number_of_arguments():
    parameters = [Parameter(0, None, "int", "integer", 4, 0), Parameter(1, "x", "float", "float", 4, 4)]
    with raises_naming(gs.InvalidInput, "k", 2, 1):
        pack("k", parameters, [1])
    with raises_naming(gs.InvalidInput, "k", 0, 1):
        pack("k", [], [1])


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("_Z1kPfPKfi", ["float*", "float const*", "int"]),
        ("_Z1kv", []),
        ("plain", None),
        ("_Z1kPFviEi", ["void (*)(int)", "int"]),
        ("_Z1kSt4pairIifEb", ["std::pair<int, float>", "bool"]),
        ("_ZN12_GLOBAL__N_11kEPh", ["unsigned char*"]),
    ],
)
def test_types_of_a_mangled_name(symbol, expected):
    assert parameter_types(_core.demangled(symbol)) == expected


def test_offsets_follow_alignment():
    (kernel,) = _core.kernel_signatures(
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".entry k(.param .u8 a, .param .u64 b, .param .u16 c, .param .align 16 .b8 d[20], .param .u8 e) { ret; }"
    )
    parameters = parameters_of(kernel)
    assert [(each.name, each.size, each.offset, each.kind) for each in parameters] == [
        ("a", 1, 0, "integer"),
        ("b", 8, 8, "integer"),
        ("c", 2, 16, "integer"),
        ("d", 20, 32, "struct"),
        ("e", 1, 52, "integer"),
    ]


def session_array(dtype="<f4", address=0x1234):
    return DeviceArray(SimpleNamespace(address=address), (4,), np.dtype(dtype))


@pytest.mark.parametrize(
    ("cpp_type", "array", "address"),
    [
        ("float*", session_array(), 0x1234),
        ("float const*", session_array(), 0x1234),
        ("void*", session_array("<i8"), 0x1234),
        ("char*", session_array("|u1"), 0x1234),
        ("Pair*", session_array("<f8"), 0x1234),
        ("float*", session_array(address=None), 0),
        (".u64", session_array(), 0x1234),
    ],
)
def test_arrays_of_a_session_are_packed_as_their_address(cpp_type, array, address):
    assert packed(cpp_type, array) == struct.pack("<Q", address)


def test_arrays_of_a_session_that_do_not_fit_are_refused():
    freed = session_array()
    freed.free()
    for cpp_type, array in [("float*", session_array("<f8")), ("char*", session_array()), ("float*", freed)]:
        with raises_naming(gs.InvalidInput, 1):
            packed(cpp_type, array)


def test_as_many_arguments_as_parameters():
    parameter = Parameter(0, None, "int", "integer", 4, 0)
    for arguments in ([], [1, 2]):
        with raises_naming(gs.InvalidInput, 1):
            launched_with([parameter], arguments)


@pytest.mark.parametrize(
    ("cpp_type", "value"),
    [
        ("int", 7),
        ("int", np.int32(7)),
        ("unsigned char", np.uint8(7)),
        ("bool", np.bool_(True)),
        ("double", 0.5),
        ("float", np.float32(0.5)),
        ("__half", np.float16(0.5)),
        ("float const*", session_array()),
        ("Pair*", session_array()),
        (".u64", session_array()),
    ],
)
def test_usual_arguments_are_packed_without_python(monkeypatch, cpp_type, value):
    monkeypatch.setattr("gpushare.kernels.fast_packing.pack", None)
    assert packed_quickly(cpp_type, value)


def test_launches_of_one_shape_have_their_own_arguments():
    launches = launches_with([parameter_of("int"), parameter_of("float*")])
    first, second = launches.of((1, session_array())), launches.of((2, session_array(address=0x5678)))
    assert first.arguments == [struct.pack("<i", 1), struct.pack("<Q", 0x1234)]
    assert second.arguments == [struct.pack("<i", 2), struct.pack("<Q", 0x5678)]


def test_an_error_of_an_arrays_memory_is_passed_on():
    class OnNoDevice:
        @property
        def address(self):
            raise gs.InvalidInput("on no device")

    with raises_naming(gs.InvalidInput, "on no device"):
        packed_quickly("float*", DeviceArray(OnNoDevice(), (4,), np.dtype("<f4")))


@pytest.mark.parametrize(
    "parameter", [Parameter(0, None, "T", "float", 16, 0), Parameter(0, None, "T*", "pointer", 4, 0)]
)
def test_parameter_of_an_impossible_size_is_refused(parameter):
    with raises_naming(gs.InvalidInput, parameter.size):
        launches_with([parameter])
