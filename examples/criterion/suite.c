/*
 * suite.c - a Criterion suite as a program that keeps its data in files might have: it
 * reads fixtures by record number, through an index, and from one end to the other.
 * It knows nothing of pagewell.
 *
 * The folder named by FIXTURES holds two files made by ./run:
 *
 *   records  64 bytes each: number (10 digits), a space, name (20), a space, amount
 *            (10 digits), filling, newline
 *   index    one line for each record: name, a space, offset of the record in records
 *
 * What belongs to record i is computed here a second time (name_of, amount_of), so a
 * byte from a wrong place fails a test.
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	RECORD = 64,
	NAME_AT = 11,
	NAME = 20,
	AMOUNT_AT = 32,
	DIGITS = 10,
	ROUNDS = 150000, /* reads of a test; fewer when there are few records */
};

static int records = -1;
static int index_fd = -1;
static long count;
static long rounds;

static int open_fixture(const char *name)
{
	const char *dir = getenv("FIXTURES");
	char path[4096];

	cr_assert_not_null(dir, "FIXTURES is not set: start the suite by ./run");
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0, "cannot open %s", path);
	return fd;
}

static void setup(void)
{
	struct stat st;

	records = open_fixture("records");
	index_fd = open_fixture("index");
	cr_assert_eq(fstat(records, &st), 0);
	cr_assert_eq(st.st_size % RECORD, 0);
	count = st.st_size / RECORD;
	rounds = count < ROUNDS ? count : ROUNDS;
}

static void teardown(void)
{
	cr_assert_eq(close(records), 0);
	cr_assert_eq(close(index_fd), 0);
}

TestSuite(fixtures, .init = setup, .fini = teardown);

/* The rules by which ./run makes the records. */
static long amount_of(long i)
{
	return i * 7919 % 99991;
}

static void name_of(long i, char name[NAME + 1])
{
	snprintf(name, NAME + 1, "item-%015ld", i * 31 % 1000003);
}

static long number(const char *digits)
{
	char text[DIGITS + 1];

	memcpy(text, digits, DIGITS);
	text[DIGITS] = '\0';
	return strtol(text, NULL, 10);
}

static long some_record(void)
{
	return random() % count;
}

Test(fixtures, a_record_is_found_by_seeking)
{
	srandom(1);
	for (long n = 0; n < rounds; n++) {
		long i = some_record();
		char digits[DIGITS];

		cr_assert_eq(lseek(records, i * RECORD, SEEK_SET), i * RECORD);
		cr_assert_eq(read(records, digits, DIGITS), DIGITS);
		cr_assert_eq(number(digits), i);
		cr_assert_eq(lseek(records, AMOUNT_AT - DIGITS, SEEK_CUR),
			     i * RECORD + AMOUNT_AT);
		cr_assert_eq(read(records, digits, DIGITS), DIGITS);
		cr_assert_eq(number(digits), amount_of(i));
	}
}

Test(fixtures, a_field_is_read_in_place)
{
	srandom(2);
	for (long n = 0; n < rounds; n++) {
		long i = some_record();
		char got[NAME], want[NAME + 1];

		name_of(i, want);
		cr_assert_eq(pread(records, got, NAME, i * RECORD + NAME_AT), NAME);
		cr_assert_arr_eq(got, want, NAME);
	}
	cr_assert_eq(lseek(records, 0, SEEK_CUR), 0, "pread moved the position");
}

/* One byte a call, as a shell reads. */
static int line(int fd, char *text, int size)
{
	int n = 0;

	while (n < size - 1 && read(fd, text + n, 1) == 1 && text[n] != '\n')
		n++;
	text[n] = '\0';
	return n;
}

Test(fixtures, the_index_leads_to_the_records)
{
	char text[80], got[NAME], want[NAME + 1];
	long lines = rounds / 8;

	for (long i = 0; i < lines; i++) {
		cr_assert_gt(line(index_fd, text, sizeof(text)), NAME);
		name_of(i, want);
		cr_assert_arr_eq(text, want, NAME);
		long offset = strtol(text + NAME, NULL, 10);
		cr_assert_eq(pread(records, got, NAME, offset + NAME_AT), NAME);
		cr_assert_arr_eq(got, want, NAME);
	}
}

Test(fixtures, odd_steps_lead_to_the_end)
{
	char block[997];
	long total = 0, bytes = 0, n;

	/* Each newline is the last byte of a record, wherever the steps cut it. */
	while ((n = read(records, block, sizeof(block))) > 0) {
		for (long k = 0; k < n; k++)
			total += block[k] == '\n' ? (bytes + k) % RECORD : 0;
		bytes += n;
	}
	cr_assert_eq(n, 0);
	cr_assert_eq(bytes, count * RECORD);
	cr_assert_eq(total, count * (RECORD - 1));
	cr_assert_eq(read(records, block, sizeof(block)), 0);
}

Test(fixtures, the_end_is_where_it_should_be)
{
	char block[3 * RECORD];
	off_t end = count * RECORD;

	cr_assert_eq(lseek(records, 0, SEEK_END), end);
	cr_assert_eq(read(records, block, RECORD), 0);
	cr_assert_eq(lseek(records, -RECORD, SEEK_CUR), end - RECORD);
	cr_assert_eq(read(records, block, sizeof(block)), RECORD);
	cr_assert_eq(number(block), count - 1);
	cr_assert_eq(pread(records, block, sizeof(block), end - 1), 1);
	cr_assert_eq(block[0], '\n');
	cr_assert_eq(pread(records, block, 1, end + RECORD), 0);
	cr_assert_eq(lseek(records, -1, SEEK_SET), -1);
	cr_assert_eq(lseek(records, 0, SEEK_CUR), end);
}

Test(fixtures, a_duplicate_shares_the_position)
{
	char digits[DIGITS];
	int twin = dup(records);

	cr_assert_geq(twin, 0);
	srandom(3);
	for (long n = 0; n < rounds / 4; n++) {
		long i = some_record();

		cr_assert_eq(lseek(twin, i * RECORD, SEEK_SET), i * RECORD);
		cr_assert_eq(read(records, digits, DIGITS), DIGITS);
		cr_assert_eq(number(digits), i);
		cr_assert_eq(lseek(twin, 0, SEEK_CUR), i * RECORD + DIGITS);
	}
	cr_assert_eq(close(twin), 0);
	cr_assert_eq(lseek(records, 0, SEEK_SET), 0);
}

Test(fixtures, a_child_goes_on_where_its_parent_was)
{
	char record[RECORD];
	int status;

	for (long i = 0; i < 20; i++) {
		cr_assert_eq(read(records, record, RECORD), RECORD);
		cr_assert_eq(number(record), 2 * i);
		pid_t pid = fork();
		if (pid == 0) {
			if (read(records, record, RECORD) != RECORD)
				_exit(1);
			_exit(number(record) != 2L * i + 1);
		}
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_assert_eq(status, 0, "the child did not read record %ld", 2 * i + 1);
	}
	cr_assert_eq(lseek(records, 0, SEEK_CUR), 40L * RECORD);
}
