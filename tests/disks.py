"""Disks for tests: a small one, which fills up, and one whose power can be cut. Mounting them needs root."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

__all__ = ["PoweredDisk", "fill", "small_disk"]


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Generator[Path]:
    """Mount a disk of this size at a folder, or skip the test."""
    _mount(folder, "-t", "tmpfs", "-o", f"size={kilobytes}k", "none")
    try:
        yield folder
    finally:
        _unmount(folder)


def fill(folder: Path) -> Path:
    """Fill a disk to its last block; return the file that fills it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    return filler


class PoweredDisk:
    """A disk in a file: what has not reached the file when it is copied is what a power cut loses."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._copies = folder, 0
        self._image = folder / "disk.img"

    @contextmanager
    def mounted(self) -> Generator[Path]:
        """Mount the disk, or skip the test; yield its folder."""
        with self._image.open("wb") as file:
            file.truncate(8 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self._image)], check=True, capture_output=True)
        with self.on(self._image) as place:
            yield place

    def cut_power(self) -> Path:
        """Copy what the disk would hold if the power failed now."""
        self._copies += 1
        image = self._folder / f"cut-{self._copies}.img"
        image.write_bytes(self._image.read_bytes())
        return image

    @contextmanager
    def on(self, image: Path) -> Generator[Path]:
        """Mount an image, such as what a power cut has left."""
        place = image.with_suffix("")
        _mount(place, "-o", "loop,commit=300", str(image))
        try:
            yield place
        finally:
            _unmount(place)


def _mount(place: Path, *arguments: str) -> None:
    place.mkdir(exist_ok=True)
    if os.name == "nt" or os.geteuid() != 0:
        pytest.skip("mounting a disk needs root")
    mounted = subprocess.run(["mount", *arguments, str(place)], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")


def _unmount(place: Path) -> None:
    subprocess.run(["umount", str(place)], check=True, capture_output=True)
