#!/bin/bash
# Servers of files, without and with the library, and what their clients get of them.
#
# Each case is a process of its own, called by its name.
# shellcheck disable=SC2030,SC2031,SC2317,SC2329
# shellcheck source=tests/system/_lib.sh
. "$(dirname "$0")/_lib.sh"

# two ports of this machine that nobody listens on, the same for both runs
read -r PORT FPM_PORT <<<"$(python3 -I -c 'import socket
free = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in free))')"
AS_ROOT=$([ "$(id -u)" != 0 ] || echo 1)
export PORT FPM_PORT AS_ROOT

# ---- for cases -------------------------------------------------------------------------

# start COMMAND...: a server, which is to end with the case
start() {
	"$@" >>srv/out 2>&1 &
	servers="${servers:-} $!"
	# shellcheck disable=SC2064
	trap "kill $servers 2>/dev/null; wait" EXIT
}

# answers PORT: waits until the server that was started last does
answers() {
	until (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; do
		kill -0 "${servers##* }" || { tail -n 5 srv/* >&2 && return 1; }
		sleep 0.05
	done
}

# stop [SIGNAL]: all servers, and what they kept for themselves
stop() {
	# shellcheck disable=SC2086 # a list
	kill "-${1:-TERM}" $servers
	wait
	trap - EXIT
	servers=
	rm -r srv
}

# nginx_with SETTINGS [GLOBAL SETTINGS]
nginx_with() {
	mkdir -p srv/tmp
	cat >srv/nginx.conf <<-END
		daemon off;
		pid $PWD/srv/pid;
		error_log $PWD/srv/error warn;
		${AS_ROOT:+user root;}
		${2:-master_process off;}
		events { worker_connections 64; }
		http {
			log_format short '\$request \$status';
			access_log $PWD/access short;
			client_body_temp_path $PWD/srv/tmp/body;
			proxy_temp_path $PWD/srv/tmp/proxy;
			fastcgi_temp_path $PWD/srv/tmp/fastcgi;
			uwsgi_temp_path $PWD/srv/tmp/uwsgi;
			scgi_temp_path $PWD/srv/tmp/scgi;
			fastcgi_cache_path $PWD/srv/tmp/cache keys_zone=pages:1m;
			client_max_body_size 10m;
			client_body_buffer_size 8k;
			gzip_types *;
			gzip_vary on;
			$1
			server {
				listen 127.0.0.1:$PORT;
				root $PWD/site;
				location /in/ { alias $IN/; }
				location /zipped/ { alias $IN/; gzip on; }
				location /quiet/ { alias $PWD/site/; access_log off; }
				location /put/ { alias $PWD/site/; dav_methods PUT DELETE MOVE COPY; }
				location /php/ {
					fastcgi_pass 127.0.0.1:$FPM_PORT;
					fastcgi_param SCRIPT_FILENAME $parts/seek.php;
					fastcgi_param QUERY_STRING \$query_string;
					fastcgi_param REQUEST_METHOD \$request_method;
					fastcgi_param CONTENT_TYPE \$content_type;
					fastcgi_param CONTENT_LENGTH \$content_length;
					fastcgi_param IN $IN;
					fastcgi_param HERE $PWD;
					fastcgi_buffers 4 4k;
					fastcgi_buffer_size 4k;
				}
				location /cached/ {
					rewrite ^/cached/(.*) /php/\$1 break;
					fastcgi_pass 127.0.0.1:$FPM_PORT;
					fastcgi_param SCRIPT_FILENAME $parts/seek.php;
					fastcgi_param QUERY_STRING how=all;
					fastcgi_param REQUEST_METHOD GET;
					fastcgi_param IN $IN;
					fastcgi_param HERE $PWD;
					fastcgi_cache pages;
					fastcgi_cache_key \$uri;
					fastcgi_cache_valid 200 1h;
				}
			}
		}
	END
	start nginx -c "$PWD/srv/nginx.conf" -e "$PWD/srv/error"
	answers "$PORT"
}

# get PATH FILE [OPTION]...: by curl, into FILE
get() {
	local path=$1 file=$2
	shift 2
	curl -sS -w "$path %{http_code} %{content_type} %{size_download}\\n" -o "$file" "$@" \
		"http://127.0.0.1:$PORT/$path"
}

# all_of_it: what any server of files has to get right
all_of_it() {
	local name
	for name in text bytes holes records empty; do
		get "in/$name" "$name"
		cmp "$name" "$IN/$name"
	done
	get in/bytes range -r 1000-1999
	get in/bytes last -r -777
	get in/bytes rest -r 299000-
	get in/bytes beyond -r 300000-
	get in/bytes parts -r 0-9,4096-8191,250000-299999
	get in/none none
	get in/text head --head -H 'Range: bytes=5-9'
	rm head # it has the time in it
	get in/text old -z "$IN/text"
	get zipped/text unzipped --compressed
	cmp unzipped "$IN/text"
	get zipped/bytes zipped -H 'Accept-Encoding: gzip'
	gzip -dc zipped | cmp - "$IN/bytes"
	# one that was broken off goes on
	head -c 100000 "$IN/bytes" >again
	get in/bytes again -C -
	cmp again "$IN/bytes"
}

# while_it_changes: the file is another one at each request
while_it_changes() {
	local n
	for n in 1 2 3; do
		head -c $((n * 30000)) "$IN/bytes" >site/changing
		get changing "long.$n"
		echo "appended $n" >>site/changing
		get changing "longer.$n"
		truncate -s $((n * 10000 + 5)) site/changing
		get changing "shorter.$n"
		cp "$IN/odd" site/other
		mv site/other site/changing
		get changing "other.$n"
	done
}

# many: small files over and over, then large ones side by side
many() {
	local i hundred
	head -c 3000 "$IN/nonzero" >site/small
	curl -sS "http://127.0.0.1:$PORT/quiet/small?[1-1500]" >small
	hundred=$(printf 'site/small %.0s' {1..100})
	# shellcheck disable=SC2086 # a list
	for i in {1..15}; do cat $hundred; done | cmp - small
	rm small
	for i in 1 2 3; do cat "$IN/nonzero" "$IN/bytes"; done >site/large
	curl --no-progress-meter -Z --parallel-max 8 -o 'large.#1' "http://127.0.0.1:$PORT/quiet/large?[1-6]"
	for i in {1..6}; do
		cmp site/large "large.$i"
		rm "large.$i"
	done
}

helpers+=(start answers stop nginx_with get all_of_it while_it_changes many)

# ---- nginx -----------------------------------------------------------------------------

# nginx_case NAME SETTINGS [GLOBAL SETTINGS]: makes a case, which the served ones cut short:
# a descriptor that nginx keeps for an hour is not expected to follow what becomes of the name
nginx_case() {
	eval "$1() {
		mkdir site
		nginx_with $(printf %q "$2") $(printf %q "${3:-}")
		all_of_it
		[[ $1 = *_kept ]] || while_it_changes
		many
		stop
	}"
}
keeps='open_file_cache max=50; open_file_cache_min_uses 1; open_file_cache_valid 1h;'
threads='master_process off; thread_pool two threads=2;'
nginx_case nginx_sendfile 'sendfile on; tcp_nopush on;'
nginx_case nginx_reads 'sendfile off; output_buffers 2 1k;'
nginx_case nginx_reads_kept "sendfile off; output_buffers 2 1k; $keeps"
nginx_case nginx_threads 'sendfile on; aio threads=two; sendfile_max_chunk 64k;' "$threads"
nginx_case nginx_threads_kept "sendfile off; aio threads=two; output_buffers 2 1k; $keeps" \
	"$threads"
nginx_case nginx_direct 'sendfile on; directio 20k;'
nginx_case nginx_workers 'sendfile off;' 'worker_processes 2;'

# What a client sends comes to lie in files, by way of temporary ones.
nginx_put() {
	mkdir site
	nginx_with 'sendfile off; client_body_in_file_only clean;'
	for name in text bytes empty; do
		get "put/$name" said -T "$IN/$name"
		get "put/$name" said -T "$IN/odd"
		get "put/$name" said -T "$IN/$name"
		cmp "site/$name" "$IN/$name"
		get "$name" "$name"
	done
	get put/text said -X MOVE -H "Destination: /put/moved"
	get put/moved said -X COPY -H "Destination: /put/copied"
	get put/moved said -X DELETE
	get copied copied
	stop
}

try nginx_sendfile nginx curl
try nginx_reads nginx curl
served nginx_reads_kept nginx curl
try nginx_threads nginx curl
served nginx_threads_kept nginx curl
try nginx_direct nginx curl
try nginx_workers nginx curl
try nginx_put nginx curl

# ---- php-fpm ---------------------------------------------------------------------------

# Debian's has its version in its name.
fpm=$(compgen -c php-fpm | grep -x 'php-fpm[0-9.]*' | sort | tail -n 1) || fpm=php-fpm
export fpm

# fpm_with SETTING...: behind nginx
fpm_with() {
	mkdir -p srv site
	{
		printf '%s\n' "[global]" "error_log = $PWD/srv/fpm.log" "daemonize = no" "[www]" \
			"listen = 127.0.0.1:$FPM_PORT" "pm = static" \
			"pm.max_children = 2" ${AS_ROOT:+"user = root" "group = root"} \
			"php_admin_value[upload_tmp_dir] = $PWD/srv" "$@"
	} >srv/fpm.conf
	start "$fpm" -n ${AS_ROOT:+-R} -F -y "$PWD/srv/fpm.conf"
	answers "$FPM_PORT"
	nginx_with 'sendfile off;'
}
pages() {
	local buffer from name
	for buffer in 0 8192; do
		for from in 1 2 3 4; do
			get "php/?how=records&buffer=$buffer&from=$from" said
			cat said
		done
	done
	for name in text bytes; do
		get 'php/?how=upload' said --data-binary "@$IN/$name"
		cat said
		cmp uploaded "$IN/$name"
		get 'php/?how=form' said -F "it=@$IN/$name"
		cat said
		cmp formed "$IN/$name"
	done
	for name in 1 2 3; do
		get 'php/?how=session' said
		cat said
	done
	get 'php/?how=all' all
	cat "$IN/holes" "$IN/text" | cmp - all
	get 'php/?how=accel' bytes
	cmp bytes "$IN/bytes"
	for name in 1 2 3; do
		get cached/page cached
		cmp cached all
	done
	curl --no-progress-meter -Z --parallel-max 4 "http://127.0.0.1:$PORT/php/?how=counter&n=[1-40]"
	cat counter
}
helpers+=(fpm_with pages)

# Children that end by themselves say how much they were served.
php_fpm() {
	fpm_with 'pm.max_requests = 4'
	pages
	stop QUIT
	sed -i '/counter/d' access # they came side by side
}
php_fpm_opcache() {
	fpm_with 'php_admin_value[opcache.enable] = 1' 'pm = dynamic' 'pm.start_servers = 1' \
		'pm.min_spare_servers = 1' 'pm.max_spare_servers = 2'
	pages
	stop
	sed -i '/counter/d' access
}

served php_fpm nginx curl "$fpm"
try php_fpm_opcache nginx curl "$fpm"

# ---- python ----------------------------------------------------------------------------

python_serves() {
	mkdir srv
	start python3 -I -m http.server -b 127.0.0.1 -d "$IN" "$PORT"
	answers "$PORT"
	for name in text bytes holes empty none; do
		get "$name" "$name"
	done
	curl --no-progress-meter -Z -o 'text.#1' "http://127.0.0.1:$PORT/text?[1-20]"
	for i in {1..20}; do
		cmp "text.$i" "$IN/text"
		rm "text.$i"
	done
	stop
}
try python_serves python3 curl

inputs_are_as_they_were
exit "$failed"
