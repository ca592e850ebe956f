# SPDX-License-Identifier: Apache-2.0
"""Limits of one client's requests, independent of the configuration."""

PROTOCOL_VERSION = 8

MOST_MESSAGE_BYTES = 1 << 20
MOST_SOURCE_BYTES = 4 << 20
"""Bytes of a kernel's CUDA C++ or PTX. The assembler's memory limit may refuse smaller ones."""
MOST_CUBIN_BYTES = 16 << 20
"""Bytes of a kernel's machine code. Both are sent in shared memory, not in messages."""
MOST_COMPILED_BYTES = 256 << 20
"""Bytes of a compilation's result: code, and PTX of kernel and worker."""
MOST_DESCRIPTORS = 4
"""Descriptors with one message."""
MOST_ARGUMENTS = 1024
MOST_OPTIONS = 256
MOST_NAMES = 1024
"""Kernels that are compiled together."""
MOST_NAME = 256
MOST_HANDLES = 1 << 16
"""Applications, kernels and arrays of one client, each."""
MOST_UNFINISHED_JOBS = 1 << 16
MOST_ARENA_BYTES = 1 << 36
"""Bytes of shared memory, in all arenas of one client."""
MOST_ARENAS = 256
"""Arenas of one client; each takes a descriptor of the worker."""
MOST_GPUS = 16
"""GPUs that one program is scheduled on."""
MOST_PROGRAMS = 16
"""Concurrent requests of one client; each takes a thread of the worker."""
MOST_WAITING_REQUESTS = 16
"""Waiting requests of one client: arrays without memory, and histories."""
LONGEST_WAIT_FOR_MEMORY_S = 600.0
"""Longest wait, in seconds; a client with more patience requests again, behind later requests."""
MOST_SHARE_OF_HISTORIES = 0.25
"""Part of the worker's Python time for histories, of all users together."""

HELLO_TIMEOUT_S = 5.0
"""A connection without a first message is dropped after this time, in seconds."""
SEND_TIMEOUT_S = 5.0
"""A client that does not read is dropped after this time, in seconds."""
MOST_GREETINGS = 256
"""Connections without a first message."""
MOST_GREETINGS_OF_USER = 64
"""The same for one user: further ones are closed, and their clients try again."""
MOST_WAITING_CONNECTIONS = 1024
"""Connections that wait for a worker; further ones are closed, and their clients try again."""
WELCOME_TIMEOUT_S = 60.0
"""Longest wait of a client for the server's answer, in seconds: a worker may have to start first."""
