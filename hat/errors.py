"""Errors that reach a user: one message that says what is wrong, where, and how to mend it."""


class HatError(Exception):
    """A problem reported to the user as one message and an exit status, never as a traceback."""

    exit_status = 2

    def __init__(self, what: str, *, where: str = "", mend: str = "") -> None:
        self.what = what
        self.where = where
        self.mend = mend
        message = f"{where}: {what}" if where else what
        super().__init__(f"{message}. {mend}" if mend else message)


class BadInput(HatError):
    """Something the user gave is wrong: a file, a name, a setting, a data set."""

    exit_status = 2


class EnvironmentFailure(HatError):
    """The surroundings failed: disk full, endpoint down, store unreachable, checkpoint unreadable."""

    exit_status = 4
