// The operators of the demo's model.
#pragma once

#include "mge.h"

class Conv final : public mge::Op
{
  public:
    static constexpr int64_t CPU_NS = 19 * 1000 * 1000;
    static int64_t spent_ns;
    void exec() override;
    int64_t &total_ns() override
    {
        return spent_ns;
    }
};

class TopK final : public mge::Op
{
  public:
    static int64_t spent_ns;
    void exec() override;
    int64_t &total_ns() override
    {
        return spent_ns;
    }

  private:
    int blocks_ = 0;
};
