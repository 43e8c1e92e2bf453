from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RefusalKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REFUSAL_KIND_UNSPECIFIED: _ClassVar[RefusalKind]
    REFUSAL_KIND_VERSION: _ClassVar[RefusalKind]
    REFUSAL_KIND_MAP: _ClassVar[RefusalKind]
    REFUSAL_KIND_DUPLICATE: _ClassVar[RefusalKind]
    REFUSAL_KIND_RESTARTED: _ClassVar[RefusalKind]
    REFUSAL_KIND_CLUSTER: _ClassVar[RefusalKind]

class DepartureKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DEPARTURE_KIND_UNSPECIFIED: _ClassVar[DepartureKind]
    DEPARTURE_KIND_LEFT: _ClassVar[DepartureKind]
    DEPARTURE_KIND_DEAD: _ClassVar[DepartureKind]
REFUSAL_KIND_UNSPECIFIED: RefusalKind
REFUSAL_KIND_VERSION: RefusalKind
REFUSAL_KIND_MAP: RefusalKind
REFUSAL_KIND_DUPLICATE: RefusalKind
REFUSAL_KIND_RESTARTED: RefusalKind
REFUSAL_KIND_CLUSTER: RefusalKind
DEPARTURE_KIND_UNSPECIFIED: DepartureKind
DEPARTURE_KIND_LEFT: DepartureKind
DEPARTURE_KIND_DEAD: DepartureKind

class Caller(_message.Message):
    __slots__ = ("cluster_id", "generation", "task_type", "task_index", "incarnation", "deadline_ms")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    TASK_TYPE_FIELD_NUMBER: _ClassVar[int]
    TASK_INDEX_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    generation: int
    task_type: str
    task_index: int
    incarnation: int
    deadline_ms: int
    def __init__(self, cluster_id: _Optional[str] = ..., generation: _Optional[int] = ..., task_type: _Optional[str] = ..., task_index: _Optional[int] = ..., incarnation: _Optional[int] = ..., deadline_ms: _Optional[int] = ...) -> None: ...

class JoinRequest(_message.Message):
    __slots__ = ("caller", "protocol_version", "cluster_map", "pid")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_MAP_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    protocol_version: int
    cluster_map: str
    pid: int
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., protocol_version: _Optional[int] = ..., cluster_map: _Optional[str] = ..., pid: _Optional[int] = ...) -> None: ...

class JoinResponse(_message.Message):
    __slots__ = ("admission", "refusal", "view", "departure", "release")
    ADMISSION_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    DEPARTURE_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    admission: Admission
    refusal: Refusal
    view: View
    departure: Departure
    release: Release
    def __init__(self, admission: _Optional[_Union[Admission, _Mapping]] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ..., view: _Optional[_Union[View, _Mapping]] = ..., departure: _Optional[_Union[Departure, _Mapping]] = ..., release: _Optional[_Union[Release, _Mapping]] = ...) -> None: ...

class Admission(_message.Message):
    __slots__ = ("cluster_id", "protocol_version")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    protocol_version: int
    def __init__(self, cluster_id: _Optional[str] = ..., protocol_version: _Optional[int] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("kind", "reason")
    KIND_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    kind: RefusalKind
    reason: str
    def __init__(self, kind: _Optional[_Union[RefusalKind, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class View(_message.Message):
    __slots__ = ("generation", "members", "missing")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    generation: int
    members: _containers.RepeatedCompositeFieldContainer[Member]
    missing: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, generation: _Optional[int] = ..., members: _Optional[_Iterable[_Union[Member, _Mapping]]] = ..., missing: _Optional[_Iterable[str]] = ...) -> None: ...

class Member(_message.Message):
    __slots__ = ("task", "incarnation")
    TASK_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    task: str
    incarnation: int
    def __init__(self, task: _Optional[str] = ..., incarnation: _Optional[int] = ...) -> None: ...

class Departure(_message.Message):
    __slots__ = ("task", "kind", "num_calls", "reason")
    class NumCallsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    TASK_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NUM_CALLS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    task: str
    kind: DepartureKind
    num_calls: _containers.ScalarMap[str, int]
    reason: str
    def __init__(self, task: _Optional[str] = ..., kind: _Optional[_Union[DepartureKind, str]] = ..., num_calls: _Optional[_Mapping[str, int]] = ..., reason: _Optional[str] = ...) -> None: ...

class Release(_message.Message):
    __slots__ = ("barrier", "generation")
    BARRIER_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    barrier: str
    generation: int
    def __init__(self, barrier: _Optional[str] = ..., generation: _Optional[int] = ...) -> None: ...

class ArriveRequest(_message.Message):
    __slots__ = ("caller", "barrier")
    CALLER_FIELD_NUMBER: _ClassVar[int]
    BARRIER_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    barrier: str
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., barrier: _Optional[str] = ...) -> None: ...

class ArriveResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LeaveRequest(_message.Message):
    __slots__ = ("caller", "num_calls", "failure")
    class NumCallsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    CALLER_FIELD_NUMBER: _ClassVar[int]
    NUM_CALLS_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    caller: Caller
    num_calls: _containers.ScalarMap[str, int]
    failure: str
    def __init__(self, caller: _Optional[_Union[Caller, _Mapping]] = ..., num_calls: _Optional[_Mapping[str, int]] = ..., failure: _Optional[str] = ...) -> None: ...

class LeaveResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
