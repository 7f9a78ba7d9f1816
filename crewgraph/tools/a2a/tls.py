"""Certificates for requests to remote agents."""

import ssl

from pydantic import BaseModel, ConfigDict, FilePath, model_validator

__all__ = ["TLSConfig"]


class TLSConfig(BaseModel):
    """Which certificates a connection to a remote agent is made with."""

    model_config = ConfigDict(extra="forbid")

    client_cert_path: FilePath | None = None
    """The client's own certificate, a PEM file; for servers that ask for one."""

    client_key_path: FilePath | None = None
    """The key of that certificate, a PEM file."""

    ca_cert_path: FilePath | None = None
    """Whom to trust, a PEM file; those that the machine trusts where None."""

    verify: bool = True
    """Whether the server's certificate is checked."""

    @model_validator(mode="after")
    def _with_certificate(self) -> "TLSConfig":
        if self.client_key_path and not self.client_cert_path:
            raise ValueError("`client_key_path` is the key of a certificate: give `client_cert_path`, too")
        return self

    def get_httpx_ssl_context(self) -> ssl.SSLContext | bool | str:
        """What `httpx.AsyncClient(verify=...)` takes."""
        if not self.verify and not self.client_cert_path:
            return False
        if not (self.client_cert_path or self.ca_cert_path):
            return True
        context = ssl.create_default_context(cafile=str(self.ca_cert_path) if self.ca_cert_path else None)
        if not self.verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if self.client_cert_path:
            context.load_cert_chain(str(self.client_cert_path), str(self.client_key_path or self.client_cert_path))
        return context
