#!/bin/sh
# Run once, on the primary's new and empty data: who the standby is, and that no commit ends before the standby has it.
set -eu
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<SQL
CREATE ROLE replicator LOGIN REPLICATION PASSWORD '$POSTGRES_PASSWORD';
-- In force from the next start on: while this runs there is no standby to wait for.
ALTER SYSTEM SET synchronous_standby_names = 'standby';
SQL
echo "host replication replicator all scram-sha-256" >> "$PGDATA/pg_hba.conf"
