// What a program does for its GPU, with a stand-in for CUDA.  The culprits: it copies from and to
// memory that is not pinned; it takes each tensor's memory from the driver and gives it back; it
// launches thousands of small kernels; it waits for the GPU, asleep.  The twins have pinned memory,
// keep what they have, launch one graph, and have more to do than the GPU.
#include "cuda_driver.h"
#include "cudart_static.h"
#include "steady.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <time.h>

namespace
{
constexpr size_t BATCH = 40 << 20; // malloc() takes so much from the kernel, each time
constexpr size_t TENSOR = 1 << 20;
volatile unsigned value = 1;

std::int64_t cpu_ns()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * std::int64_t{1000000000} + t.tv_nsec;
}

[[gnu::noinline]] void prepare(int thousands)
{
    for (int i = 0; i < thousands * 1000; i++)
        value = value * 1664525U + 1013904223U;
}

// The same for MS of its thread's CPU time, however fast the machine is.
[[gnu::noinline]] void prepare_for(int ms)
{
    std::int64_t end_ns = cpu_ns() + ms * std::int64_t{1000000};
    while (cpu_ns() < end_ns)
        prepare(50);
}

// ---- copies ----

class Loader
{
  public:
    explicit Loader(bool pinned) : pinned_(pinned)
    {
        cudaMalloc(&device_, BATCH);
        if (pinned)
            cudaHostAlloc(&batch_, BATCH, 0);
        else
            batch_ = std::memset(std::malloc(BATCH), 1, BATCH);
    }

    [[gnu::noinline]] double upload()
    {
        double start_s = now();
        cudaMemcpyAsync(device_, batch_, BATCH, cudaMemcpyHostToDevice, nullptr);
        return now() - start_s;
    }

    // Into new memory, as a framework does it that was asked for no pinned one.
    [[gnu::noinline]] double fetch()
    {
        double start_s = now();
        void *result = pinned_ ? batch_ : std::malloc(BATCH);
        cudaMemcpyAsync(result, device_, BATCH, cudaMemcpyDeviceToHost, nullptr);
        if (!pinned_)
            std::free(result);
        return now() - start_s;
    }

  private:
    bool pinned_;
    void *device_ = nullptr, *batch_ = nullptr;
};

void copy_batches(const steady &run)
{
    Loader loader(run.twin);
    double copied_s = 0;
    while (steady_goes_on(&run)) {
        copied_s += loader.upload();
        prepare(1500);
        copied_s += loader.fetch();
    }
    steady_tell("share", steady_per_second(&run, copied_s));
}

// ---- memory ----

class Allocator
{
  public:
    explicit Allocator(bool keeps) : keeps_(keeps)
    {
    }

    void *take()
    {
        void *ret = kept_;
        double start_s = now();
        kept_ = nullptr;
        if (!ret)
            cudaMalloc(&ret, TENSOR);
        seconds += now() - start_s;
        return ret;
    }

    void give_back(void *memory)
    {
        double start_s = now();
        if (keeps_)
            kept_ = memory;
        else
            cudaFree(memory);
        seconds += now() - start_s;
    }

    double seconds = 0;

  private:
    bool keeps_;
    void *kept_ = nullptr;
};

[[gnu::noinline]] void relu(Allocator &memory)
{
    void *out = memory.take();
    prepare(10);
    memory.give_back(out);
}

[[gnu::noinline]] void mean(Allocator &memory)
{
    void *out = memory.take();
    prepare(15);
    memory.give_back(out);
}

[[gnu::noinline]] void dropout(Allocator &memory)
{
    void *mask = memory.take();
    prepare(10);
    memory.give_back(mask);
}

void make_tensors(const steady &run)
{
    Allocator memory(run.twin);
    while (steady_goes_on(&run)) {
        relu(memory);
        mean(memory);
        dropout(memory);
    }
    steady_tell("share", steady_per_second(&run, memory.seconds));
}

// ---- launches ----

// As torch's bindings: only the argument of the template says what is computed.
template <void (*function)(int)> [[gnu::noinline]] double checked(int argument)
{
    double start_s = now();
    function(argument);
    return now() - start_s;
}

[[gnu::noinline]] void scale_rows(int n)
{
    for (int i = 0; i < n; i++)
        cudaLaunchKernel(nullptr, 1, &i);
}

[[gnu::noinline]] void add_bias(int n)
{
    for (int i = 0; i < n; i++)
        cudaLaunchKernel(nullptr, 2, &i);
}

void launch_kernels(const steady &run)
{
    double launched_s = 0;
    while (steady_goes_on(&run)) {
        if (run.twin) {
            cudaGraphLaunch(nullptr, nullptr);
        } else {
            launched_s += checked<scale_rows>(900);
            launched_s += checked<add_bias>(600);
        }
        prepare(200);
    }
    steady_tell("share", steady_per_second(&run, launched_s));
}

// ---- waits ----

[[gnu::noinline]] double step(int event, bool twin)
{
    cuEventRecord(event, 20);
    prepare_for(twin ? 19 : 4);
    double start_s = now();
    cudaEventSynchronize(event, 1);
    return now() - start_s;
}

void wait_for_steps(const steady &run)
{
    int event;
    double waited_s = 0;
    cuEventCreate(&event, 1);
    if (run.twin)
        steady_round_is(5);
    while (steady_goes_on(&run))
        waited_s += step(event, run.twin);
    steady_tell("share", steady_per_second(&run, waited_s));
}
} // namespace

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const std::string what = argv[1];
    steady run = steady_begin(argc - 1, argv + 1);
    if (what == "copies")
        copy_batches(run);
    else if (what == "memory")
        make_tensors(run);
    else if (what == "launches")
        launch_kernels(run);
    else
        wait_for_steps(run);
    return 0;
}
