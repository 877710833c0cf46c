/* The functions behind exporter.c's table, one a format. */
#pragma once

#include "exporter/exporter.h"

format_write speedscope_write;
format_write firefox_write;
format_write folded_write;
format_write pprof_write;
format_write flamegraph_write;
format_write recording_write_format;
