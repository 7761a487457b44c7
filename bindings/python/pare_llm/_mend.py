"""What the adapters have in common: a body or a list, as it should be sent."""

from . import PareError, fit, fix

_LIMITS = ("max_tokens", "max_messages", "max_exchanges", "max_turns")


def body(given, options):
    """A request as it should be sent: the same object if it needs nothing, or cannot be read."""
    for call in (lambda: fit(given, **options), lambda: fix(given)):
        try:
            return call()
        except PareError as problem:
            if problem.type not in ("unknown_model", "window_too_small"):
                return given
    return given


def messages(given, shape, options):
    """A list in the shape of a host; it is made to fit if options have a limit."""
    if any(name in options for name in _LIMITS):
        try:
            return fit(given, **{**options, "as": shape})
        except PareError:
            options = {name: value for name, value in options.items() if name not in _LIMITS}
    try:
        return fix(given, **{**options, "as": shape})
    except PareError:
        return given
