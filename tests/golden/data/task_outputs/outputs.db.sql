PRAGMA application_id = 0;
PRAGMA user_version = 0;
PRAGMA auto_vacuum = 0;
BEGIN TRANSACTION;
CREATE TABLE taken (run TEXT);
CREATE TABLE task_outputs (
    task_id TEXT PRIMARY KEY, expected_output TEXT, output JSON, task_index INTEGER, inputs JSON, was_replayed BOOLEAN,
    timestamp TEXT DEFAULT (datetime('now'))
);
INSERT INTO "task_outputs" VALUES('f0bd669a-1f88-4793-bdba-370ff9e69c5a','A word','{"raw": "high"}',0,'{"what": "tide"}',0,'2026-11-22 23:23:35');
COMMIT;
