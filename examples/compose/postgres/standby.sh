#!/bin/sh
# A copy of the primary, made at the first start, which follows it from then on.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    PGPASSWORD=$POSTGRES_PASSWORD pg_basebackup -h primary -U replicator -D "$PGDATA" \
        --write-recovery-conf --wal-method=stream --checkpoint=fast
    chmod 700 "$PGDATA"
fi
# Promoted, it has no standby of its own: with the primary's setting, which came with the copy, no commit would end.
exec postgres -c cluster_name=standby -c synchronous_standby_names= -c listen_addresses='*'
