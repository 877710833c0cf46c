// Checks the names of a model's joints.  The culprit: each check makes its own std::regex; the twin
// has one for all.
#include "steady.h"

#include <regex>
#include <string>

namespace
{
constexpr char pattern[] = "([A-Za-z_][A-Za-z0-9_]*)(\\.[A-Za-z_][A-Za-z0-9_]*)*(\\[[0-9]+\\])?";

bool is_joint(const std::string &name)
{
    const std::regex joint(pattern);
    return std::regex_match(name, joint);
}

bool is_joint_of_one(const std::string &name)
{
    static const std::regex joint(pattern);
    return std::regex_match(name, joint);
}

long check_model(bool twin, int model)
{
    long joints = 0;
    for (int i = 0; i < 20; i++) {
        std::string name = "body" + std::to_string(model) + ".joint_" + std::to_string(i) + "[3]";
        joints += twin ? is_joint_of_one(name) : is_joint(name);
    }
    return joints;
}
} // namespace

int main(int argc, char **argv)
{
    const steady run = steady_begin(argc, argv);
    double joints = 0;
    for (int model = 0; steady_goes_on(&run); model++)
        joints += static_cast<double>(check_model(run.twin, model));
    steady_tell("joints_per_s", steady_per_second(&run, joints));
}
