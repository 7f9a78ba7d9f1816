"""The names of this package, each with its module: for type checkers, and for `__init__.py`, which imports them lazily."""

from crewgraph.contrib.queue.queue import Job as Job
from crewgraph.contrib.queue.queue import JobFailed as JobFailed
from crewgraph.contrib.queue.queue import JobInfo as JobInfo
from crewgraph.contrib.queue.queue import JobProgress as JobProgress
from crewgraph.contrib.queue.queue import JobStatus as JobStatus
from crewgraph.contrib.queue.queue import Queue as Queue
from crewgraph.contrib.queue.worker import QueueWorker as QueueWorker
