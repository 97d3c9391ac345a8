/*
 * points.h - named places at which a test build stops or kills the process. In a release
 * build they are nothing. See points.c for how a test asks.
 */
#ifndef PW_CACHE_POINTS_H
#define PW_CACHE_POINTS_H

#ifdef PW_DEBUG
void pw_point(const char *name);
#define PW_POINT(name) pw_point(name)
#else
#define PW_POINT(name) ((void)0)
#endif

#endif
