#!/bin/bash
# nginx: two workers serve some hundred requests (files, ranges, gzip, a proxied server, a reload)
# with the right bytes.
. "$(dirname "$0")/../risk/lib.sh"
PATH=$PATH:/usr/sbin
need nginx
PY=/usr/bin/python3
[ -x "$PY" ] || skip "no $PY for the client"

mkdir -p "$TMP/www" "$TMP/t"
chmod 755 "$TMP" "$TMP/www"
for n in 1 100 5000 70000 900000; do head -c $n /dev/urandom >"$TMP/www/file$n"; done
seq 1 20000 >"$TMP/www/numbers.txt"
# An address of the loopback that no other test listens on, so nobody can take the port before nginx does.
host=127.$(($$ / 62500 % 250 + 1)).$(($$ / 250 % 250)).$(($$ % 250 + 1))
port=$("$PY" -c 'import socket, sys; s = socket.socket(); s.bind((sys.argv[1], 0)); print(s.getsockname()[1])' "$host")
user=; [ "$(id -u)" -ne 0 ] || user="user root;"
cat >"$TMP/nginx.conf" <<END
$user
worker_processes 2;
daemon off;
pid $TMP/pid;
error_log $TMP/error.log notice;
events { worker_connections 256; }
http {
    access_log off;
    default_type text/plain;
    client_body_temp_path $TMP/t; proxy_temp_path $TMP/t; fastcgi_temp_path $TMP/t;
    uwsgi_temp_path $TMP/t; scgi_temp_path $TMP/t;
    gzip on; gzip_min_length 10; gzip_types text/plain;
    server { listen $host:$port; root $TMP/www;
        location /proxy/ { proxy_pass http://unix:$TMP/back:/; }
        location = /text { return 200 "hello \$arg_n\n"; } }
    server { listen unix:$TMP/back; root $TMP/www; gzip off; }
}
END
cat >"$TMP/client.py" <<'END'
"""client.py HOST PORT WWW: asks for everything in several threads, checks each byte, prints the count."""
import gzip, http.client, os, sys, threading
host, port, www = sys.argv[1], int(sys.argv[2]), sys.argv[3]
files = {n: open(os.path.join(www, n), "rb").read() for n in os.listdir(www)}
done, bad = [], []

def ask(conn, path, headers={}):
    conn.request("GET", path, headers=headers)
    answer = conn.getresponse()
    return answer.status, answer.getheader("Content-Encoding"), answer.read()

def work(turn):
    conn = http.client.HTTPConnection(host, port, timeout=30)
    for name, data in files.items():
        for path in ("/" + name, "/proxy/" + name):
            for headers in ({}, {"Accept-Encoding": "gzip"}, {"Range": "bytes=0-9"}):
                status, coding, body = ask(conn, path, headers)
                if coding == "gzip": body = gzip.decompress(body)
                want = data[:10] if status == 206 else data
                (done if status in (200, 206) and body == want else bad).append(path)
    status, _, body = ask(conn, "/text?n=%d" % turn)
    (done if (status, body) == (200, b"hello %d\n" % turn) else bad).append("/text")
    status, _, _ = ask(conn, "/absent")
    (done if status == 404 else bad).append("/absent")
    conn.close()

threads = [threading.Thread(target=work, args=(i,)) for i in range(12)]
[t.start() for t in threads]; [t.join() for t in threads]
print(len(done), "good", len(bad), "bad", bad[:3])
sys.exit(1 if bad or len(done) < 400 else 0)
END

check_preload nginx
LD_PRELOAD=$VT_SO nginx -p "$TMP" -c "$TMP/nginx.conf" >"$TMP/out" 2>&1 &
master=$!; own $master
has_workers() { [ "$(children_of $master | wc -l)" -ge 2 ]; }
await 20 has_workers || { cat "$TMP/out" "$TMP/error.log"; fail "nginx does not start"; }
must_be_loaded_in $master
must_be_loaded_in_children $master 2

timeout -k 5 60 "$PY" "$TMP/client.py" "$host" "$port" "$TMP/www" || fail "wrong answers"
kill -HUP $master                                      # new workers, the old ones end
await 20 grep -q 'exited with code 0' "$TMP/error.log" ||
    fail "expected the old workers to end well after a reload"
await 20 has_workers || fail "expected new workers after a reload"
timeout -k 5 60 "$PY" "$TMP/client.py" "$host" "$port" "$TMP/www" || fail "wrong answers after the reload"
kill -QUIT $master
wait $master
status=$?
[ $status -eq 0 ] || fail "expected nginx to end with status 0, saw $status"
! grep -E 'exited on signal|\[alert\]|\[emerg\]' "$TMP/error.log" ||
    fail "nginx reports trouble, see above"
