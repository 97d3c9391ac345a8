/* Files IN: the ways in which Java reads and writes files. */
import java.io.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.security.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.zip.*;
import static java.nio.file.StandardOpenOption.*;

public class Files {
	static Path in;

	static void say(Object... what) {
		StringBuilder line = new StringBuilder();
		for (Object w : what)
			line.append(w).append(' ');
		System.out.println(line);
	}

	static String sum(byte[] data) throws Exception {
		return new java.math.BigInteger(1, MessageDigest.getInstance("MD5").digest(data)).toString(16);
	}

	/* Records at random: by a file's position, and past it. */
	static long lookUps(int times) throws IOException {
		CRC32 seen = new CRC32();
		byte[] record = new byte[17];
		try (RandomAccessFile f = new RandomAccessFile(in.resolve("records").toFile(), "r");
		     FileChannel c = FileChannel.open(in.resolve("records"), READ)) {
			int at = 1;
			for (int i = 0; i < times; i++) {
				at = (at * 75 + 74) % 65537;
				f.seek(at % 4096 * 17);
				f.readFully(record);
				seen.update(record);
				ByteBuffer b = ByteBuffer.allocateDirect(17);
				if (c.read(b, at % 4096 * 17) != 17 || !b.flip().equals(ByteBuffer.wrap(record)))
					throw new IOException("the channel differs at " + i);
			}
			seen.update((int)f.getFilePointer());
		}
		return seen.getValue();
	}

	static void randomAccess() throws Exception {
		try (RandomAccessFile f = new RandomAccessFile(in.resolve("text").toFile(), "r")) {
			for (int i = 0; i < 300; i++)
				f.read();
			say(f.getFilePointer(), f.readLine(), f.readLine(), f.getFilePointer(), f.length());
			f.seek(f.length() - 5);
			say(f.read(new byte[100]), f.read(), f.skipBytes(10), f.getFilePointer());
			f.seek(1L << 40);
			say(f.read(), f.getFilePointer());
			f.seek(52);
			Process p = new ProcessBuilder("head", "-n", "2").redirectInput(in.resolve("odd").toFile()).start();
			say(new String(p.getInputStream().readAllBytes()), p.waitFor(), f.readLine());
		}
		try (RandomAccessFile f = new RandomAccessFile("both", "rw")) {
			for (int i = 0; i < 2000; i++)
				f.writeInt(i * 7919);
			long n = 0;
			for (int i = 0; i < 3000; i++) {
				f.seek(i * 37 % 1999 * 4);
				n = n * 31 + f.readInt();
				f.writeInt((int)n);
			}
			for (int size : new int[] {5000, 4097, 4096, 10, 0, 300}) {
				f.setLength(size);
				say(size, f.getFilePointer(), f.length(), f.read());
			}
			say(n);
		}
	}

	static void channels() throws Exception {
		try (FileChannel c = FileChannel.open(in.resolve("bytes"), READ);
		     FileChannel out = FileChannel.open(Path.of("out"), READ, WRITE, CREATE)) {
			ByteBuffer b = ByteBuffer.allocate(1000);
			for (int i = 0; i < 200; i++) {
				b.clear();
				c.read(b);
			}
			say(c.position(), c.size(), b);
			say(c.transferTo(50, 100000, out), out.transferFrom(c, 100000, 5000), c.position(), out.position());
			ByteBuffer[] parts = {ByteBuffer.allocate(7), ByteBuffer.allocateDirect(9)};
			say(c.read(parts), c.position(), sum(parts[0].array()));
			c.position(299999);
			b.clear();
			say(c.read(b), c.read(b), c.position(), c.read(b, 1L << 41));
			out.truncate(60000);
			say(out.position(), out.size());
			try (FileLock lock = out.lock(10, 20, false)) {
				say(lock.isValid());
			}
		}
	}

	static void mapped() throws Exception {
		try (FileChannel c = FileChannel.open(Path.of("mapped"), READ, WRITE, CREATE)) {
			c.write(ByteBuffer.wrap(java.nio.file.Files.readAllBytes(in.resolve("nonzero"))));
			MappedByteBuffer m = c.map(FileChannel.MapMode.READ_WRITE, 0, 300000);
			ByteBuffer b = ByteBuffer.allocateDirect(20);
			CRC32 seen = new CRC32();
			for (int i = 0; i < 5000; i++) {
				m.put(i * 59, (byte)(i % 255 + 1));
				b.clear();
				c.read(b, i * 59);
				seen.update(b.flip());
			}
			m.force();
			/* Java's own handler for SIGBUS makes an error of this. */
			c.truncate(4096);
			try {
				say("read", m.get(200000));
			} catch (InternalError e) {
				say("InternalError");
			}
			b.clear();
			say(seen.getValue(), c.read(b, 4090), c.read(b, 5000), c.size());
		}
	}

	static void threads() throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(4);
		List<Future<Long>> sums = new ArrayList<>();
		for (int i = 0; i < 4; i++)
			sums.add(pool.submit(() -> lookUps(3000)));
		for (Future<Long> f : sums)
			say(f.get());
		/* one description for all: each piece once */
		try (FileInputStream f = new FileInputStream(in.resolve("records").toFile())) {
			List<Future<List<String>>> pieces = new ArrayList<>();
			for (int i = 0; i < 4; i++)
				pieces.add(pool.submit(() -> {
					List<String> mine = new ArrayList<>();
					byte[] b = new byte[17];
					while (f.read(b) == 17)
						mine.add(new String(b));
					return mine;
				}));
			TreeSet<String> all = new TreeSet<>();
			int n = 0;
			for (Future<List<String>> p : pieces) {
				n += p.get().size();
				all.addAll(p.get());
			}
			say(n, all.size(), all.hashCode());
		}
		try (AsynchronousFileChannel a = AsynchronousFileChannel.open(in.resolve("records"), Set.of(READ), pool)) {
			List<Future<Integer>> reads = new ArrayList<>();
			List<ByteBuffer> into = new ArrayList<>();
			for (int i = 0; i < 1000; i++) {
				into.add(ByteBuffer.allocate(17));
				reads.add(a.read(into.get(i), i * 31 % 4096 * 17));
			}
			CRC32 seen = new CRC32();
			for (int i = 0; i < 1000; i++)
				seen.update(into.get(i).array(), 0, reads.get(i).get());
			say(seen.getValue());
		}
		/* A thread is interrupted: the channel that it reads is closed. */
		try (FileChannel c = FileChannel.open(in.resolve("text"), READ)) {
			Thread.currentThread().interrupt();
			c.read(ByteBuffer.allocate(10));
		} catch (ClosedByInterruptException e) {
			say("closed", Thread.interrupted());
		}
		pool.shutdown();
	}

	static void streams() throws Exception {
		try (BufferedReader r = java.nio.file.Files.newBufferedReader(in.resolve("text"))) {
			r.mark(100);
			say(r.readLine());
			r.reset();
			say(r.lines().count());
		}
		try (FileInputStream f = new FileInputStream(in.resolve("bytes").toFile())) {
			say(f.skip(1000), f.available(), f.readNBytes(10).length, f.getChannel().position());
			say(sum(f.readAllBytes()));
		}
		try (ZipOutputStream z = new ZipOutputStream(new FileOutputStream("a.zip"))) {
			for (String name : List.of("text", "bytes", "holes")) {
				ZipEntry e = new ZipEntry(name);
				e.setTimeLocal(java.time.LocalDateTime.of(2020, 1, 2, 3, 4, 6));
				z.putNextEntry(e);
				java.nio.file.Files.copy(in.resolve(name), z);
			}
		}
		try (ZipFile z = new ZipFile("a.zip")) {
			for (String name : List.of("holes", "text", "bytes"))
				say(name, sum(z.getInputStream(z.getEntry(name)).readAllBytes()));
		}
		java.nio.file.Files.copy(in.resolve("holes"), Path.of("copied"));
		say(java.nio.file.Files.mismatch(in.resolve("holes"), Path.of("copied")));
	}

	public static void main(String[] args) throws Exception {
		in = Path.of(args[0]);
		say(lookUps(10000));
		randomAccess();
		channels();
		mapped();
		threads();
		streams();
	}
}
