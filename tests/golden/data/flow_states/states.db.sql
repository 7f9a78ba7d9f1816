PRAGMA application_id = 0;
PRAGMA user_version = 0;
PRAGMA auto_vacuum = 0;
BEGIN TRANSACTION;
CREATE TABLE saved_states (
    flow TEXT PRIMARY KEY, method TEXT NOT NULL, state TEXT NOT NULL, at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) WITHOUT ROWID;
INSERT INTO "saved_states" VALUES('golden','count','{"id": "golden", "legs": [{"miles": 3, "port": "Split"}], "count": 1}','2026-11-22 23:23:19');
CREATE TABLE waiting_questions (
    flow TEXT PRIMARY KEY, question TEXT NOT NULL, state TEXT NOT NULL
) WITHOUT ROWID;
COMMIT;
