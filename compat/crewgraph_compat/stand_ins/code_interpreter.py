"""The code interpreter tool with the interface of crewai_tools."""

from typing import Any, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from crewgraph.tools.code import CodeInterpreterTool as _Ours


class CodeInterpreterSchema(BaseModel):
    """The arguments of the tool."""

    code: str = Field(description="A complete Python program; what it prints is the result")
    libraries_used: list[str] = Field(
        default_factory=list[str],
        description="The libraries that it imports; only those that are installed already are there",
    )


class CodeInterpreterTool(_Ours):
    """Run Python in a disposable Docker container, never on this machine."""

    args_schema: type[BaseModel] = CodeInterpreterSchema

    code: str | None = None
    """The default program, used if the model passes none."""

    default_image_tag: str | None = None
    """An alias of the image; nothing is built."""

    unsafe_mode: bool = False
    """Must not be True."""

    user_dockerfile_path: str | None = None
    """Not supported: build the image and pass it as `image`."""

    user_docker_base_url: str | None = None
    """Not supported: set Docker's own variable DOCKER_HOST."""

    @field_validator("unsafe_mode")
    @classmethod
    def _refuse_unsafe(cls, value: bool) -> bool:
        if value:
            raise ValueError(
                "`unsafe_mode=True` would run a model's code on this machine, with all your permissions; it is "
                "rejected. Remove it to use Docker"
            )
        return value

    @field_validator("user_dockerfile_path", "user_docker_base_url")
    @classmethod
    def _refuse_building(cls, value: str | None) -> str | None:
        if value is not None:
            raise ValueError(
                "crewgraph builds no image: build it (`docker build --tag NAME FOLDER`) and pass its name as `image=`; the "
                "variable DOCKER_HOST sets the address of Docker"
            )
        return value

    @model_validator(mode="after")
    def _take_tag(self) -> Self:
        if self.default_image_tag and "image" not in self.model_fields_set:
            object.__setattr__(self, "image", self.default_image_tag)
        return self

    def _run(self, code: str | None = None, libraries_used: list[str] | None = None, **_given: Any) -> str:
        """Return the output of the program.

        Raises:
            ToolFailed: The program could not be run, timed out, or failed.
            ValueError: There is no program.
        """
        program = code or self.code
        if not program:
            raise ValueError("there is no `code` to run.")
        return super()._run(program)
