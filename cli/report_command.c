#include "cli/report_command.h"

#include "cli/fleet_report.h"

int report_command_main(const struct options *o)
{
    return fleet_report_main(o);
}
