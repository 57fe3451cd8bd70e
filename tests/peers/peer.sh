#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run a foreign client's test with its own Python: peer.sh PEER VENVS TARE-SWITCH
# VENVS/PEER is a virtual environment that devtools/setup-peers makes where packages can be had.
python=$2/$1/bin/python
if ! [ -x "$python" ]; then
	echo "SKIP: no $1 here"
	exit 77
fi
exec "$python" "$(dirname "$0")/$(echo "$1" | tr - _)_client.py" "$3"
