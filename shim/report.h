/* report.h - what a process leaves behind: the report at exit, and notes in the log. */
#ifndef PW_SHIM_REPORT_H
#define PW_SHIM_REPORT_H

/* PAGEWELL_REPORT: "key value" lines. Nothing if the knob is not set. */
void pw_report_write(void);

/* PAGEWELL_LOG: one line; for pw_note. err is an errno or 0. */
void pw_log(const char *what, const char *where, long err);

#endif
