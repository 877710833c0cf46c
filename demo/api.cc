// What Python calls, through ctypes.
#include "cudart.h"
#include "mge.h"
#include "ops.h"

#include <memory>

// Where the worker's time went, in nanoseconds of wall time, and two counts.
struct mge_truth {
    int64_t alive, idle, conv, topk, ioctl;
    int64_t device_calls, eintr;
};

static struct cudart_truth device_at_start;

extern "C" {

// Returns 0, or an errno if there is no device.
int mge_check_device()
{
    cudaDeviceProp prop;
    return cudaGetDeviceProperties(&prop, 0);
}

mge::Worker *mge_start()
{
    device_at_start = cudart_truth();
    return new mge::Worker;
}

uint64_t mge_conv(mge::Worker *worker)
{
    return worker->submit(std::make_unique<Conv>());
}

uint64_t mge_topk(mge::Worker *worker)
{
    return worker->submit(std::make_unique<TopK>());
}

void mge_sync(mge::Worker *worker, uint64_t ticket)
{
    worker->sync(ticket);
}

void mge_stop(mge::Worker *worker, mge_truth *ret)
{
    worker->stop();
    const struct cudart_truth device = cudart_truth();
    *ret = {
        worker->alive_ns(),
        worker->idle_ns(),
        Conv::spent_ns,
        TopK::spent_ns,
        device.ioctl_ns - device_at_start.ioctl_ns,
        device.calls - device_at_start.calls,
        device.eintr - device_at_start.eintr,
    };
    delete worker;
}
}
