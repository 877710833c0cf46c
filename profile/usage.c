#include "profile/usage.h"

void profile_usage_add(struct profile_usage *sum, const struct profile_usage *u)
{
    sum->over_ns += u->over_ns;
    sum->user_ns += u->user_ns;
    sum->system_ns += u->system_ns;
    sum->minor_faults += u->minor_faults;
    sum->major_faults += u->major_faults;
    sum->voluntary += u->voluntary;
    sum->involuntary += u->involuntary;
    sum->reads += u->reads;
    sum->writes += u->writes;
    sum->read_bytes += u->read_bytes;
    sum->written_bytes += u->written_bytes;
}
