"""What goes wrong with clients of vectors."""

__all__ = ["ClientMethodMismatchError"]


class ClientMethodMismatchError(TypeError):
    """A sync verb of an async client, or the other way round."""

    def __init__(self, method_name: str, expected_client: str, alt_method: str, alt_client: str) -> None:
        super().__init__(
            f"`{method_name}()` is for a `{expected_client}`; with this client, if it is a `{alt_client}`, call "
            f"`{alt_method}()`."
        )
