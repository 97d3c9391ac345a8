// files.js IN: the ways in which Node reads and writes files.
const fs = require("fs");
const path = require("path");
const crypto = require("crypto");
const readline = require("readline");
const { spawnSync } = require("child_process");
const { pipeline } = require("stream/promises");
const { Worker, isMainThread, workerData, parentPort } = require("worker_threads");

const IN = process.argv[2] || workerData.IN;
const input = (name) => path.join(IN, name);
const md5 = (data) => crypto.createHash("md5").update(data).digest("hex");
const say = (...what) => console.log(...what);

// Records at random, each read by itself; and the same again from wherever the file stands.
function lookUps(times) {
	const fd = fs.openSync(input("records"), "r");
	const record = Buffer.alloc(17);
	const seen = crypto.createHash("md5");
	for (let i = 0, at = 1; i < times; i++) {
		at = (at * 75 + 74) % 65537;
		fs.readSync(fd, record, 0, 17, (at % 4096) * 17);
		seen.update(record);
		if (i % 4 == 0) {
			fs.readSync(fd, record, 0, 17, null);
			seen.update(record);
		}
	}
	fs.closeSync(fd);
	return seen.digest("hex");
}

function positions() {
	const fd = fs.openSync(input("text"), "r");
	const b = Buffer.alloc(100, "-");
	for (let i = 0; i < 300; i++) fs.readSync(fd, b, 0, 26, null);
	say(fs.readSync(fd, b, 5, 20, null), b.toString());
	say(fs.readSync(fd, b, 0, 26, 52), b.toString(), fs.readSync(fd, b, 0, 26, null), b.toString());
	say(fs.readSync(fd, b, 0, 100, 1 << 30), fs.readvSync(fd, [Buffer.alloc(5), b], 26), b.toString());
	say(fs.fstatSync(fd).size);
	// who inherits the descriptor goes on where it stands
	say(spawnSync("head", ["-c", "40"], { stdio: [fd, "pipe"] }).stdout.toString());
	say(fs.readSync(fd, b, 0, 26, null), b.toString());
	say(spawnSync("sh", ["-c", "sed 1q <&3; cat <&3 | cksum"], { stdio: ["ignore", "pipe", "inherit", fd] }).stdout.toString());
	say(fs.readSync(fd, b, 0, 26, null));
	fs.closeSync(fd);
	try {
		fs.readSync(fd, b, 0, 1, 0);
	} catch (e) {
		say(e.code, e.syscall);
	}
}

function changing() {
	const fd = fs.openSync("changing", "w+");
	const b = Buffer.alloc(30);
	fs.writeSync(fd, Buffer.alloc(60000, "0123456789"));
	const seen = crypto.createHash("md5");
	for (let i = 0; i < 2000; i++) {
		fs.writeSync(fd, `<${i}>`, (i * 7) % 59000);
		fs.readSync(fd, b, 0, 30, (i * 7) % 59000);
		seen.update(b);
	}
	for (const size of [50000, 8192, 4097, 10, 0, 9000]) {
		fs.ftruncateSync(fd, size);
		say(size, fs.readSync(fd, b, 0, 30, Math.max(0, size - 20)), fs.readSync(fd, b, 0, 30, 4090), b.toString("hex"));
	}
	fs.appendFileSync("changing", "appended");
	say(seen.digest("hex"), fs.readFileSync("changing").length);
	fs.closeSync(fd);
	fs.copyFileSync(input("bytes"), "copy");
	fs.cpSync(IN, "tree", { recursive: true });
	fs.renameSync("copy", "renamed");
	say(fs.readFileSync("renamed").equals(fs.readFileSync(input("bytes"))));
}

async function atOnce() {
	const file = await fs.promises.open(input("records"), "r");
	const reads = [];
	for (let i = 0; i < 4000; i++) reads.push(file.read(Buffer.alloc(17), 0, 17, ((i * 31) % 4096) * 17));
	const seen = crypto.createHash("md5");
	for (const { buffer } of await Promise.all(reads)) seen.update(buffer);
	say(seen.digest("hex"));
	await file.close();
	const whole = ["text", "bytes", "holes", "odd", "third", "empty"].map((n) => fs.promises.readFile(input(n)));
	for (const data of await Promise.all(whole)) say(data.length, md5(data));
}

async function streams() {
	for (const options of [{}, { start: 100, end: 9000 }, { highWaterMark: 50 }, { start: 299990 }]) {
		const seen = crypto.createHash("md5");
		let n = 0;
		for await (const piece of fs.createReadStream(input("bytes"), options)) {
			n += piece.length;
			seen.update(piece);
		}
		say(n, seen.digest("hex"));
	}
	let lines = 0, last;
	for await (const line of readline.createInterface({ input: fs.createReadStream(input("unended")) })) {
		lines++;
		last = line;
	}
	say(lines, last);
	await pipeline(fs.createReadStream(input("bytes")), fs.createWriteStream("piped"));
	await pipeline(fs.createReadStream(input("odd")), fs.createWriteStream("piped", { flags: "a" }));
	await pipeline(fs.createReadStream(input("text")), require("zlib").createGzip({ level: 1 }), fs.createWriteStream("text.gz"));
	say(require("zlib").gunzipSync(fs.readFileSync("text.gz")).equals(fs.readFileSync(input("text"))));
	// somebody else appends to what a stream is reading
	fs.writeFileSync("growing", "x".repeat(1000));
	let got = "";
	for await (const piece of fs.createReadStream("growing", { highWaterMark: 100 })) {
		if (!got) fs.appendFileSync("growing", "y".repeat(1000));
		got += piece;
	}
	say(got.length, md5(got));
}

async function workers() {
	const one = () => new Promise((done, failed) => {
		const w = new Worker(__filename, { workerData: { IN } });
		w.on("message", done);
		w.on("error", failed);
	});
	say(...(await Promise.all([one(), one(), one()])));
}

async function main() {
	say(lookUps(20000));
	positions();
	changing();
	await atOnce();
	await streams();
	await workers();
}

if (isMainThread) main();
else parentPort.postMessage(lookUps(5000));
