"""Tools written in Python: a function with type hints becomes a tool with a JSON Schema."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import threading
import types
import typing
from typing import Any, Callable, Dict, List, Mapping, Optional, Union, get_args, get_origin, get_type_hints

from ._names import plain

_UNION_TYPES = (Union, getattr(types, "UnionType", Union))
_SIMPLE: Dict[Any, Dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
    dict: {"type": "object"},
    list: {"type": "array"},
}


class ToolContext:
    """The call that a tool serves. It is passed to the parameter with this type, which models do not see."""

    def __init__(
        self,
        session: Any,
        call_id: Optional[str],
        session_id: Optional[str],
        progress: Callable[[Any], None],
    ) -> None:
        self.session = session
        self.call_id = call_id
        self.session_id = session_id
        self._progress = progress
        self._cancelled = threading.Event()

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled. A plain function cannot be interrupted: check this in long work."""
        return self._cancelled.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep until the time is over or the call is cancelled. Returns whether it was cancelled."""
        return self._cancelled.wait(seconds)

    def progress(self, partial: Any) -> None:
        """Emit a partial result as ``tool_output_delta``."""
        self._progress(plain(partial))


class Tool:
    """A tool that runs in this process. Its calls pass the same gate as those of every other tool."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: Optional[str] = None,
        description: Optional[str] = None,
        parameters: Optional[Mapping[str, Any]] = None,
        kind: str = "other",
        title: Optional[str] = None,
        idempotent: bool = False,
        requires: Optional[Mapping[str, Any]] = None,
        must_ask: Optional[str] = None,
    ) -> None:
        self.function = function
        self.name = name or function.__name__
        self.description = description or _first_paragraph(function) or self.name.replace("_", " ")
        self.kind = kind
        self.title = title
        self.idempotent = idempotent
        self.requires = requires
        self.must_ask = must_ask
        self._hints = get_type_hints(function, include_extras=True)
        self._context = next((key for key, hint in self._hints.items() if _bare(hint) is ToolContext), None)
        self._takes_object = parameters is not None
        self.parameters = dict(parameters) if parameters is not None else self._schema()
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **more: Any) -> Any:
        return self.function(*args, **more)

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    def wire(self) -> Dict[str, Any]:
        """The definition that is sent to the Capstan process."""
        given = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "kind": self.kind,
            "title": self.title,
            "idempotent": self.idempotent,
            "requires": plain(self.requires),
            "mustAsk": self.must_ask,
        }
        return {key: value for key, value in given.items() if value is not None}

    def arguments(self, args: Any, context: ToolContext) -> Dict[str, Any]:
        """The keyword arguments of the function for the arguments of a call."""
        known = {} if self._context is None else {self._context: context}
        if self._takes_object:
            # A tool with its own schema gets arguments that fit it.
            return {**known, **args}
        return {**known, **{key: convert(self._hints.get(key, Any), value) for key, value in args.items()}}

    def _schema(self) -> Dict[str, Any]:
        properties: Dict[str, Any] = {}
        required: List[str] = []
        for key, parameter in inspect.signature(self.function).parameters.items():
            if key == self._context:
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise TypeError(f"The tool {self.name!r} has the parameter {parameter}, which has no place in a schema.")
            properties[key] = json_schema(self._hints.get(key, Any))
            if parameter.default is parameter.empty:
                required.append(key)
            elif _is_json(parameter.default):
                properties[key] = {**properties[key], "default": parameter.default}
        schema: Dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        return {**schema, "required": required} if required else schema


@typing.overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@typing.overload
def tool(
    *,
    name: Optional[str] = ...,
    description: Optional[str] = ...,
    parameters: Optional[Mapping[str, Any]] = ...,
    kind: str = ...,
    title: Optional[str] = ...,
    idempotent: bool = ...,
    requires: Optional[Mapping[str, Any]] = ...,
    must_ask: Optional[str] = ...,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(function: Optional[Callable[..., Any]] = None, /, **options: Any) -> Any:
    """Create a tool from a function. The type hints become its JSON Schema, the docstring its description.

    Use ``Annotated[str, "what it is"]`` to describe a parameter, and a parameter of the type ``ToolContext`` to get
    the call itself.
    """
    if function is not None:
        return Tool(function, **options)
    return lambda given: Tool(given, **options)


def json_schema(hint: Any) -> Dict[str, Any]:
    """Return the JSON Schema of a type hint. Raises TypeError for a type that JSON does not have."""
    if hint in (inspect.Parameter.empty,):
        return {}
    try:
        if hint in _SIMPLE:
            return dict(_SIMPLE[hint])
    except TypeError:
        pass  # A hint that cannot be hashed is not a simple one.
    origin, args = get_origin(hint), get_args(hint)
    if origin is typing.Annotated:
        return _annotated(args)
    if origin in _UNION_TYPES:
        return _union(args)
    if origin is typing.Literal:
        return {"enum": [plain(value) for value in args]}
    if origin in (list, set, frozenset, typing.get_origin(typing.Sequence[int]), typing.get_origin(typing.Iterable[int])):
        return {"type": "array", "items": json_schema(args[0])}
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return {"type": "array", "items": json_schema(args[0])}
        count = len(args)
        return {"type": "array", "prefixItems": [json_schema(arg) for arg in args], "minItems": count, "maxItems": count}
    if origin in (dict, typing.get_origin(typing.Mapping[str, int])):
        return {"type": "object", "additionalProperties": json_schema(args[1])}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [plain(member.value) for member in hint]}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        needed = [
            field.name
            for field in dataclasses.fields(hint)
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        ]
        return _object(get_type_hints(hint, include_extras=True), needed)
    if typing.is_typeddict(hint):
        hints = get_type_hints(hint, include_extras=True)
        return _object(hints, sorted(hint.__required_keys__, key=list(hints).index))
    raise TypeError(f"{hint!r} has no JSON Schema: pass parameters=... to @tool, or use a type that JSON has.")


def _annotated(args: Any) -> Dict[str, Any]:
    schema = json_schema(args[0])
    for note in args[1:]:
        if isinstance(note, str):
            schema = {**schema, "description": note}
        elif isinstance(note, Mapping):
            schema = {**schema, **note}
    return schema


def _union(args: Any) -> Dict[str, Any]:
    options = [json_schema(arg) for arg in args]
    if all(list(option) == ["type"] for option in options):
        return {"type": [option["type"] for option in options]}
    return {"anyOf": options}


def _object(hints: Mapping[str, Any], required: List[str]) -> Dict[str, Any]:
    schema: Dict[str, Any] = {
        "type": "object",
        "properties": {key: json_schema(hint) for key, hint in hints.items()},
        "additionalProperties": False,
    }
    return {**schema, "required": required} if required else schema


def convert(hint: Any, value: Any) -> Any:
    """Return a JSON value as the type of a hint. The value fits the schema of the hint already."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is typing.Annotated:
        return convert(args[0], value)
    if origin in _UNION_TYPES:
        if value is None:
            return None
        fitting = [arg for arg in args if arg is not type(None)]
        return convert(fitting[0], value) if len(fitting) == 1 else value
    if origin in (list, set, frozenset) and isinstance(value, list):
        return origin(convert(args[0], item) for item in value)
    if origin is tuple and isinstance(value, list):
        kinds = [args[0]] * len(value) if len(args) == 2 and args[1] is Ellipsis else args
        return tuple(convert(kind, item) for kind, item in zip(kinds, value))
    if origin is dict and isinstance(value, dict):
        return {key: convert(args[1], item) for key, item in value.items()}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(value)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, dict):
        hints = get_type_hints(hint, include_extras=True)
        return hint(**{key: convert(hints.get(key, Any), item) for key, item in value.items()})
    if hint is float and isinstance(value, int):
        return float(value)
    return value


def result_data(value: Any) -> Any:
    """Return what a tool returned as JSON data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(dataclasses.asdict(value))
    if isinstance(value, enum.Enum):
        return plain(value.value)
    return plain(value)


def as_tool(value: Any) -> Tool:
    """Return a tool for a tool or a plain function."""
    if isinstance(value, Tool):
        return value
    if callable(value):
        return Tool(value)
    raise TypeError(f"{value!r} is not a tool: use a function, or @tool.")


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is typing.Annotated else hint


def _first_paragraph(function: Callable[..., Any]) -> str:
    text = inspect.getdoc(function) or ""
    return " ".join(text.split("\n\n", 1)[0].split())


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool))
