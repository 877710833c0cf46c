/* The keys of the "wallspy" block that are about the machine: "host_cpu", "machine", "mounts". */
#pragma once

#include "exporter/json.h"
#include "profile/profile.h"

void machine_block_write(struct json *j, const struct profile *p);
