#!/usr/bin/env bash
# The store contract, the tests of servers, kills and histories on Citus, with the tables of the service local to the coordinator:
#   git clone --depth 1 --branch v13.2.2 https://github.com/citusdata/citus /tmp/citus && test/citus.sh /tmp/citus
# As root on Debian 12: builds Citus against its PostgreSQL 15. Takes about half an hour.
set -euo pipefail
source=${1:?expected the folder of the source of Citus}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export POSTGRES_PROGRAMS=/usr/lib/postgresql/15/bin POSTGRES_EXTENSION=citus DATABASES=postgres
if [ ! -e /usr/lib/postgresql/15/lib/citus.so ]; then
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends postgresql-15 postgresql-server-dev-15 gcc make \
    libcurl4-openssl-dev libicu-dev libkrb5-dev liblz4-dev libpam0g-dev libpq-dev libreadline-dev libselinux1-dev libssl-dev \
    libxml2-dev libxslt1-dev libzstd-dev zlib1g-dev
  (cd "$source" && ./configure PG_CONFIG="$POSTGRES_PROGRAMS/pg_config" && make -j"$(nproc)" && make install) >"$source/build.log" 2>&1
fi

npm ci
npm run build
run() { npm exec --offline -- node --import ./test/sources.ts "$@"; }
run --test --test-timeout=600000 test/store/contract.test.ts test/store/servers.test.ts
for kill in service server; do run test/crash/run.ts --rounds 100 --database postgres --kill "$kill"; done
run test/crash/run.ts --database postgres --kill steps
run test/histories/run.ts --histories 50 --database postgres
run test/histories/evolve-run.ts --histories 20 --database postgres --seed 1
