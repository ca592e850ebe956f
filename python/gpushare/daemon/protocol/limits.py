# SPDX-License-Identifier: Apache-2.0
"""What one client may ask of the server, whatever its configuration."""

PROTOCOL_VERSION = 6

MOST_MESSAGE_BYTES = 1 << 20
MOST_SOURCE_BYTES = 4 << 20
"""Of a kernel's CUDA C++ or PTX. Whether assemblers can do with it is limited by their memory."""
MOST_CUBIN_BYTES = 16 << 20
"""Of a kernel's machine code. Both travel in shared memory and not in messages."""
MOST_COMPILED_BYTES = 256 << 20
"""Of what a compilation makes: code, and PTX of kernel and worker."""
MOST_DESCRIPTORS = 4
"""That come with one message."""
MOST_ARGUMENTS = 1024
MOST_OPTIONS = 256
MOST_NAMES = 1024
"""Of kernels that are compiled together."""
MOST_NAME = 256
MOST_HANDLES = 1 << 16
"""Applications, kernels and arrays of one client, each."""
MOST_UNFINISHED_JOBS = 1 << 16
MOST_ARENA_BYTES = 1 << 36
"""Of shared memory, in all of one client's arenas."""
MOST_ARENAS = 256
"""Of one client; each takes a descriptor of the worker's."""
MOST_PROGRAMS = 16
"""Of one client; each takes a thread of the worker's."""
MOST_WAITING_REQUESTS = 16
"""Of one client: arrays that wait for memory, and histories that wait for their turn."""
LONGEST_WAIT_FOR_MEMORY_S = 600.0
"""Who has more patience asks again, behind those that have come meanwhile."""
MOST_SHARE_OF_HISTORIES = 0.25
"""Of the time that the worker's Python has, for those of all users together."""

HELLO_TIMEOUT_S = 5.0
"""Who connects and says nothing for so long is dropped."""
SEND_TIMEOUT_S = 5.0
"""Who reads nothing for so long is dropped."""
MOST_GREETINGS = 256
"""Connections that have not said what they want yet."""
MOST_GREETINGS_OF_USER = 64
"""Of these, one user's: the next ones are closed, and their clients try again."""
MOST_WAITING_CONNECTIONS = 1024
"""Connections that wait for a worker; the next ones are closed, and their clients try again."""
WELCOME_TIMEOUT_S = 60.0
"""How long a client waits for the server's answer: a worker may have to start first."""
