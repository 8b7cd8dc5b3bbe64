"""Probes of the sandbox: what is tried, and the report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

# What a box of this machine holds back, as it was found out by trying.


class Backend(StrEnum):
    BUBBLEWRAP = "bubblewrap"
    """Namespaces, and in them Landlock, seccomp and limits."""
    LANDLOCK = "landlock"
    """Landlock, seccomp and limits alone, where there are no user namespaces."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One attempt to get out, made from inside."""

    name: str
    held: bool
    detail: str
    """What came of it, in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Of one backend; `portico doctor` and `portico status` show it."""

    backend: Backend
    probes: Sequence[Probe] = ()
    missing: str | None = None
    """Why it cannot be used here, if it cannot: a program, a part of the kernel."""
    fix: str | None = None
    cgroup: bool = False
    """Whether memory and processes are counted by the kernel for all of a box together."""

    @property
    def escapes(self) -> Sequence[Probe]:
        return [probe for probe in self.probes if not probe.held]

    @property
    def offered(self) -> bool:
        """A box that lets one thing through, or that was not tried, is none."""
        return self.missing is None and bool(self.probes) and not self.escapes


class SandboxLayer(StrEnum):
    """One of the walls of a box; each holds by itself what it is there for."""

    NAMESPACES = "namespaces"
    MOUNTS = "mounts"
    LANDLOCK = "landlock"
    SECCOMP = "seccomp"
    LIMITS = "limits"
    ACCOUNT = "account"
    """Whose rights it has, and that it gains no others."""
    ENVIRONMENT = "environment"
    DESCRIPTORS = "descriptors"
    PROXY = "proxy"
    ENDING = "ending"
    """That a box is ended as a whole."""


class Situation(StrEnum):
    ROOT = "root"
    """Portico itself runs as root, and things in the box as another account."""
    USER = "user"
    NO_NAMESPACES = "no user namespaces"
    """A user whom the kernel does not let have any, as in many containers."""


class Manner(StrEnum):
    """How an attempt is made."""

    TOGETHER = "together"
    """One after the other, in one box."""
    PROXIED = "proxied"
    """Likewise, in a box with a way to the network."""
    ALONE = "alone"
    """In a box of its own, which is ended for it, or which is looked at from outside."""


class Verdict(StrEnum):
    HELD = "held"
    OPEN = "not held"
    ABSENT = "not there"
    """There is no such box in this situation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One attempt to get out, before it was made."""

    name: str
    sentence: str
    """What is tried, for whoever reads the table."""
    walls: Mapping[Backend, SandboxLayer]
    """What it meets first."""
    quick: bool = False
    """Whether it is made at every start of Portico: it tells that a wall stands."""
    manner: Manner = Manner.TOGETHER
    open_in: Mapping[Backend, str] = field(default_factory=dict)
    """Where it is not held, and what that means."""

    def declared(self, backend: Backend, situation: Situation) -> Verdict:
        if backend is Backend.BUBBLEWRAP and situation is Situation.NO_NAMESPACES:
            return Verdict.ABSENT
        return Verdict.OPEN if backend in self.open_in else Verdict.HELD


def to_hold(
    trials: Sequence[Trial], backend: Backend, situation: Situation, *, quick: bool
) -> Sequence[Trial]:
    """Those that decide whether a box is offered: what is said to be open does not."""
    return [
        trial
        for trial in trials
        if trial.declared(backend, situation) is Verdict.HELD and (trial.quick or not quick)
    ]


_NAMESPACES, _MOUNTS, _LANDLOCK = (
    SandboxLayer.NAMESPACES,
    SandboxLayer.MOUNTS,
    SandboxLayer.LANDLOCK,
)
_SECCOMP, _LIMITS, _ACCOUNT = SandboxLayer.SECCOMP, SandboxLayer.LIMITS, SandboxLayer.ACCOUNT


def _trial(
    name: str,
    sentence: str,
    *walls: SandboxLayer,
    quick: bool = False,
    manner: Manner = Manner.TOGETHER,
    bubblewrap_lets: str | None = None,
    landlock_lets: str | None = None,
) -> Trial:
    """`walls`: that of bubblewrap and that of landlock, or the same for both."""
    lets = {Backend.BUBBLEWRAP: bubblewrap_lets, Backend.LANDLOCK: landlock_lets}
    return Trial(
        name=name,
        sentence=sentence,
        walls={Backend.BUBBLEWRAP: walls[0], Backend.LANDLOCK: walls[-1]},
        quick=quick,
        manner=manner,
        open_in={backend: why for backend, why in lets.items() if why is not None},
    )


_FILES: Final = (
    _trial("read_by_path", "Reads a file outside by its path.", _MOUNTS, _LANDLOCK, quick=True),
    _trial("read_by_dots", "Reads it by `..` from its own folder.", _MOUNTS, _LANDLOCK),
    _trial(
        "read_by_planted_link",
        "Reads it by a link that lies in its folder and leads out.",
        _MOUNTS,
        _LANDLOCK,
    ),
    _trial("read_by_own_link", "Reads it by a link that it makes itself.", _MOUNTS, _LANDLOCK),
    _trial("read_by_hard_link", "Gives it a second name in its folder.", _MOUNTS, _LANDLOCK),
    _trial(
        "read_by_linked_descriptor",
        "Likewise by a descriptor of it that may do nothing else.",
        _MOUNTS,
        _LANDLOCK,
    ),
    _trial("read_by_reopening", "Opens such a descriptor again.", _MOUNTS, _LANDLOCK),
    _trial("read_by_moving", "Moves it into its folder.", _MOUNTS, _LANDLOCK),
    _trial("read_by_mounted_root", "Reads it below `/proc/self/root`.", _MOUNTS, _LANDLOCK),
    _trial("read_by_handle", "Reads it by its number, without a path.", _SECCOMP),
    _trial("write_by_path", "Makes a file outside by its path.", _MOUNTS, _LANDLOCK, quick=True),
    _trial("write_by_dots", "Makes one by `..` from its own folder.", _MOUNTS, _LANDLOCK),
    _trial("write_by_planted_link", "Makes one by a link to a folder.", _MOUNTS, _LANDLOCK),
    _trial("overwrite_outside", "Writes over a file outside.", _MOUNTS, _LANDLOCK),
    _trial("truncate_outside", "Cuts a file outside off.", _MOUNTS, _LANDLOCK),
    _trial("remove_outside", "Removes a file outside.", _MOUNTS, _LANDLOCK),
    _trial("list_outside", "Lists a folder outside.", _MOUNTS, _LANDLOCK),
    _trial(
        "see_outside",
        "Learns that a file outside is there, and how large it is.",
        _MOUNTS,
        quick=True,
        landlock_lets="Landlock guards what is in files, not that they are there: names that can "
        "be guessed can be asked for, with size, owner and time.",
    ),
    _trial("change_mode_outside", "Changes who may read a file outside.", _MOUNTS, _SECCOMP),
    _trial(
        "change_mode_of_given",
        "Changes who may write a file that it may only read.",
        _MOUNTS,
        _SECCOMP,
        landlock_lets="Landlock guards what is in files. Whoever owns a file that the box may read "
        "can change its mode by a descriptor, which installers need; what is in it stays as it is.",
    ),
    _trial("change_time_outside", "Changes when it was written.", _MOUNTS, _SECCOMP),
    _trial("watch_outside", "Watches who uses a folder outside.", _MOUNTS, _SECCOMP),
    _trial("run_outside", "Runs a program outside.", _MOUNTS, _LANDLOCK),
    _trial("run_by_descriptor", "Runs it by a descriptor.", _MOUNTS, _LANDLOCK),
    _trial("read_shadow", "Reads the passwords of the system.", _MOUNTS, _LANDLOCK),
    _trial("home_folder", "Lists the home folder of whoever runs Portico.", _MOUNTS, _LANDLOCK),
    _trial("ssh_keys", "Reads SSH keys.", _MOUNTS, _LANDLOCK),
    _trial("data_folder", "Lists Portico's data.", _MOUNTS, _LANDLOCK),
    _trial("password_file", "Reads the password of the database.", _MOUNTS, _LANDLOCK, quick=True),
    _trial("key_file", "Reads Portico's own key.", _MOUNTS, _LANDLOCK),
    _trial("home_of_another_server", "Reads what another server keeps.", _MOUNTS, _LANDLOCK),
    _trial(
        "shared_temporary_files",
        "Reads files of others in `/tmp`, `/var/tmp` and `/dev/shm`.",
        _MOUNTS,
        _LANDLOCK,
    ),
    _trial(
        "write_elsewhere",
        "Writes anywhere but in its folders and in its scratch, where nobody would count it.",
        _LANDLOCK,
        quick=True,
    ),
    _trial("make_device", "Makes the device of a disk.", _LANDLOCK),
    _trial("open_disk", "Opens a disk.", _MOUNTS, _LANDLOCK),
    _trial("kernel_memory", "Opens the memory of the kernel.", _MOUNTS, _LANDLOCK),
    _trial("kernel_settings", "Opens a setting of the kernel to write it.", _LANDLOCK),
    _trial("system_requests", "Opens the door to system requests.", _LANDLOCK),
    _trial("hardware_folder", "Looks into `/sys`.", _MOUNTS, _LANDLOCK),
)

_PROCESSES: Final = (
    _trial("process_list", "Lists the processes outside.", _NAMESPACES, _LANDLOCK, quick=True),
    _trial(
        "guess_process",
        "Asks for a process outside by its number.",
        _NAMESPACES,
        landlock_lets="Numbers of processes can be tried one by one. That tells that they are "
        "there, and nothing else of them.",
    ),
    _trial("process_arguments", "Reads with what it was started.", _NAMESPACES, _LANDLOCK),
    _trial("process_environment", "Reads its environment.", _NAMESPACES, _LANDLOCK, quick=True),
    _trial("process_folder", "Goes by `/proc/PID/cwd`.", _NAMESPACES, _LANDLOCK),
    _trial("process_root", "Goes by `/proc/PID/root`.", _NAMESPACES, _LANDLOCK),
    _trial("process_files", "Opens its files by `/proc/PID/fd`.", _NAMESPACES, _LANDLOCK),
    _trial("process_memory", "Opens its memory.", _NAMESPACES, _LANDLOCK),
    _trial("process_map", "Reads the map of its memory.", _NAMESPACES, _LANDLOCK),
    _trial(
        "first_environment",
        "Reads the environment of what set the box up.",
        SandboxLayer.ENVIRONMENT,
        quick=True,
    ),
    _trial("first_root", "Goes by `/proc/1/root`.", _MOUNTS, _LANDLOCK),
    _trial(
        "own_environment",
        "Finds a key of ours in its own environment.",
        SandboxLayer.ENVIRONMENT,
        quick=True,
    ),
    _trial(
        "inherited_descriptors",
        "Finds more open files than it was given.",
        SandboxLayer.DESCRIPTORS,
        quick=True,
    ),
    _trial("signal_process", "Signals a process outside.", _NAMESPACES, _LANDLOCK, quick=True),
    _trial("signal_by_descriptor", "Signals it by a descriptor.", _NAMESPACES, _LANDLOCK),
    _trial("signal_keeper", "Signals what is to end the box.", _LANDLOCK, quick=True),
    _trial("keeper_files", "Opens files of what is to end the box.", _LANDLOCK),
    _trial("trace_process", "Traces it.", _SECCOMP, quick=True),
    _trial("read_process_memory", "Reads its memory by a call.", _NAMESPACES, _SECCOMP),
    _trial("take_descriptor", "Takes a file that it has open.", _NAMESPACES, _SECCOMP),
    _trial("limit_process", "Sets its limits.", _SECCOMP),
    _trial("slow_process", "Sets its priority.", _NAMESPACES, _SECCOMP),
    _trial("slow_account", "Sets that of all of its account.", _NAMESPACES, _SECCOMP),
    _trial("confine_process", "Sets its cores.", _NAMESPACES, _SECCOMP),
    _trial("shared_segment", "Reads shared memory of the system.", _SECCOMP),
    _trial("message_queue", "Opens a queue of the system.", _NAMESPACES, _SECCOMP),
)

_NETWORK: Final = (
    _trial("loopback", "Connects to this machine.", _NAMESPACES, _SECCOMP, quick=True),
    _trial("loopback_of_ipv6", "Likewise by IPv6.", _NAMESPACES, _SECCOMP),
    _trial("loopback_as_mapped", "Likewise by an IPv4 address in IPv6.", _NAMESPACES, _SECCOMP),
    _trial("loopback_as_nowhere", "Likewise by 0.0.0.0.", _NAMESPACES, _SECCOMP),
    _trial("loopback_by_many_paths", "Likewise by MPTCP.", _NAMESPACES, _SECCOMP),
    _trial("loopback_by_other_streams", "Likewise by SCTP.", _NAMESPACES, _SECCOMP),
    _trial("loopback_by_fast_open", "Likewise by TCP Fast Open.", _NAMESPACES, _SECCOMP),
    _trial("loopback_by_datagram", "Likewise by UDP.", _NAMESPACES, _SECCOMP, quick=True),
    _trial("own_address", "Connects to this machine by its address.", _NAMESPACES, _SECCOMP),
    _trial(
        "way_to_metadata",
        "Finds a way to 169.254.169.254, where clouds keep keys.",
        _NAMESPACES,
        _SECCOMP,
    ),
    _trial("way_to_internet", "Finds a way to the internet.", _NAMESPACES, _SECCOMP),
    _trial("way_to_names", "Asks for the address of a name.", _NAMESPACES, _SECCOMP),
    _trial("listen_outside", "Listens where others can connect.", _NAMESPACES, _SECCOMP),
    _trial("abstract_socket", "Connects to an abstract socket.", _NAMESPACES, _SECCOMP, quick=True),
    _trial("socket_by_path", "Connects to a socket by its path.", _MOUNTS, _SECCOMP, quick=True),
    _trial("socket_by_link", "Connects to it by a planted link.", _MOUNTS, _SECCOMP),
    _trial("database_socket", "Connects to Portico's database.", _MOUNTS, _SECCOMP),
    _trial("host_of_virtual_machine", "Talks to the host of a virtual machine.", _SECCOMP),
    _trial("network_of_kernel", "Sees the interfaces of this machine.", _NAMESPACES, _SECCOMP),
    _trial("raw_packets", "Sends packets of its own making.", _SECCOMP),
    _trial("raw_addresses", "Sends them below TCP and UDP.", _ACCOUNT, _SECCOMP),
    _trial("ciphers_of_kernel", "Uses the kernel's ciphers.", _SECCOMP),
    _trial("other_families", "Makes sockets of seldom used kinds.", _SECCOMP),
)

_GIVEN: Final = (
    _trial(
        "socket_in_given_folder",
        "Connects to a socket that lies in a folder that it may read.",
        _MOUNTS,
        _SECCOMP,
        bubblewrap_lets="To connect to a socket is not to write to its folder, and no filter of "
        "calls sees a path. Give no folder in which somebody listens.",
    ),
)

_KERNEL: Final = (
    _trial("new_user_namespace", "Makes a user namespace.", _SECCOMP, quick=True),
    _trial("new_user_namespace_by_clone", "Makes one by `clone`.", _SECCOMP),
    _trial("new_user_namespace_by_clone3", "Makes one by `clone3`.", _SECCOMP),
    _trial("new_mount_namespace", "Makes a mount namespace.", _SECCOMP),
    _trial("new_network_namespace", "Makes a network namespace.", _SECCOMP),
    _trial("new_process_namespace", "Makes a process namespace.", _SECCOMP),
    _trial("enter_namespace", "Goes into a namespace of a process outside.", _SECCOMP),
    _trial("mount", "Mounts.", _SECCOMP),
    _trial("mount_by_new_calls", "Mounts by the newer calls.", _SECCOMP),
    _trial("turn_root", "Turns the root of the files.", _SECCOMP),
    _trial("change_root", "Changes its root.", _SECCOMP),
    _trial("keyring", "Puts a key into a keyring of the kernel.", _SECCOMP, quick=True),
    _trial("keyring_of_others", "Finds the keyring of its account.", _SECCOMP),
    _trial("programs_in_kernel", "Loads a program into the kernel (BPF).", _SECCOMP),
    _trial("performance_counters", "Counts events of the processor.", _SECCOMP),
    _trial("queued_calls", "Makes a queue of calls (io_uring).", _SECCOMP, quick=True),
    _trial("faults_by_hand", "Takes page faults into its own hand.", _SECCOMP),
    _trial("file_events", "Listens to what happens to files.", _SECCOMP),
    _trial("load_module", "Loads a module into the kernel.", _SECCOMP),
    _trial("restart_machine", "Restarts the machine.", _SECCOMP),
    _trial("change_kernel", "Starts another kernel.", _SECCOMP),
    _trial("kernel_log", "Reads the log of the kernel.", _SECCOMP),
    _trial("set_clock", "Sets the clock.", _SECCOMP),
    _trial("set_name", "Sets the name of the machine.", _SECCOMP),
    _trial("swap", "Adds room for swapping.", _SECCOMP),
    _trial("process_accounts", "Switches process accounting on.", _SECCOMP),
    _trial("other_personality", "Has addresses not shuffled any more.", _SECCOMP),
    _trial("calls_of_32_bits", "Makes calls by the numbers of 32-bit programs.", _SECCOMP),
    _trial("type_into_terminal", "Types into a terminal.", _SECCOMP),
)

_RIGHTS: Final = (
    _trial("become_root", "Becomes root.", _ACCOUNT, quick=True),
    _trial("become_another", "Becomes another account.", _ACCOUNT),
    _trial("join_groups", "Joins a group.", _ACCOUNT),
    _trial("setuid_program", "Runs a program that gives its rights away.", _ACCOUNT),
    _trial(
        "leave_setuid_behind",
        "Leaves such a program behind in its folder.",
        _SECCOMP,
    ),
    _trial("raise_priority", "Goes before others.", _ACCOUNT),
    _trial("real_time", "Goes before everybody.", _ACCOUNT),
)

_MORE: Final = (
    _trial("raise_limits", "Raises its limits.", _LIMITS, quick=True),
    _trial(
        "dump_memory",
        "Has its memory written when it crashes, or given to a program outside.",
        _LIMITS,
    ),
    _trial("too_many_processes", "Has more processes than it may.", _LIMITS, quick=True),
    _trial("too_many_threads", "Has more threads than it may.", _LIMITS),
    _trial("too_large_file", "Writes a larger file than it may.", _LIMITS, quick=True),
    _trial("too_many_files", "Opens more files than it may.", _LIMITS, quick=True),
    _trial(
        "too_much_scratch",
        "Fills its folder for temporary files.",
        _MOUNTS,
        landlock_lets="Its folder for temporary files is one on the disk of this machine, without "
        "a bound of its own. It is gone when the box is.",
    ),
    _trial("too_much_memory", "Takes more memory than it may.", _LIMITS, manner=Manner.ALONE),
    _trial(
        "too_much_shared_memory",
        "Likewise by memory that several can share.",
        _LIMITS,
        manner=Manner.ALONE,
    ),
    _trial(
        "too_much_memory_together",
        "Likewise by many processes, each of which has less.",
        _LIMITS,
        manner=Manner.ALONE,
    ),
    _trial(
        "too_long",
        "Goes on for longer than it may, and is deaf.",
        SandboxLayer.ENDING,
        manner=Manner.ALONE,
    ),
    _trial("too_loud", "Writes more output than it may.", SandboxLayer.ENDING, manner=Manner.ALONE),
    _trial(
        "too_loud_on_errors",
        "Likewise on standard error.",
        SandboxLayer.ENDING,
        manner=Manner.ALONE,
    ),
    _trial("left_child", "Leaves a process behind.", SandboxLayer.ENDING, manner=Manner.ALONE),
    _trial(
        "left_daemon",
        "Leaves one behind that has gone away from its group, session and parent, and is deaf.",
        SandboxLayer.ENDING,
        manner=Manner.ALONE,
    ),
)

_WITH_NETWORK: Final = "_with_network"


def attempt_of(trial: Trial) -> str:
    """Its name among the attempts: some are made both with a network and without."""
    return trial.name.removesuffix(_WITH_NETWORK)


def _with_network(trials: Sequence[Trial], walls: Mapping[str, SandboxLayer]) -> Sequence[Trial]:
    """The same again, from a box that has a way out: what it must not reach is the same."""
    return [
        _trial(
            f"{trial.name}{_WITH_NETWORK}",
            f"From a box with a network: {trial.sentence[0].lower()}{trial.sentence[1:]}",
            trial.walls[Backend.BUBBLEWRAP],
            walls.get(trial.name, trial.walls[Backend.LANDLOCK]),
            manner=Manner.PROXIED,
        )
        for trial in trials
    ]


_PROXIED: Final = (
    *_with_network(
        _NETWORK,
        {
            "loopback": _LANDLOCK,
            "loopback_of_ipv6": _LANDLOCK,
            "loopback_as_mapped": _LANDLOCK,
            "loopback_as_nowhere": _LANDLOCK,
            "own_address": _LANDLOCK,
        },
    ),
    _trial(
        "another_at_the_port_of_the_proxy",
        "Connects to another address than the proxy's, at its port.",
        _NAMESPACES,
        _LANDLOCK,
        manner=Manner.PROXIED,
        landlock_lets="Landlock knows ports and no addresses. Whoever listens at the port of this "
        "box's proxy, which is another one each time, can be reached without it, on any machine.",
    ),
    *(
        _trial(
            name,
            sentence,
            SandboxLayer.PROXY,
            manner=Manner.PROXIED,
            quick=name == "proxy_to_loopback",
        )
        for name, sentence in (
            ("proxy_to_loopback", "Asks the proxy for this machine."),
            ("proxy_to_own_address", "Asks it for this machine by its address."),
            ("proxy_to_mapped_address", "Asks it for an IPv4 address in IPv6."),
            ("proxy_to_metadata", "Asks it for 169.254.169.254."),
            ("proxy_to_local_name", "Asks it for `localhost`."),
            ("proxy_by_whole_address", "Asks it for a page of this machine."),
        )
    ),
)

GROUPS: Final[Mapping[str, Sequence[Trial]]] = {
    "Files": _FILES,
    "Processes": _PROCESSES,
    "Sockets": (*_NETWORK, *_GIVEN),
    "Sockets of a box with a network": _PROXIED,
    "The kernel": _KERNEL,
    "Rights": _RIGHTS,
    "More than was given": _MORE,
}

TRIALS: Final[Sequence[Trial]] = [trial for group in GROUPS.values() for trial in group]
