#include "summary/spinning.h"

#include "base/text.h"
#include "summary/view.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static const char gpu[] = "[spinning: waits for GPU]", nccl[] = "[spinning: NCCL progress]",
                  omp[] = "[spinning: OpenMP barrier]", omp_lock[] = "[spinning: OpenMP lock]",
                  tbb[] = "[spinning: TBB waits for tasks]", blas[] = "[spinning: BLAS worker]",
                  ucx[] = "[spinning: UCX progress]", mpi[] = "[spinning: MPI progress]",
                  lock[] = "[spinning: spin lock]", yield[] = "[spinning: sched_yield]";

/* STACK ends in LEAF; NULL: it does not spin. */
static void assert_leaf(const char *stack_text, const char *leaf)
{
    struct profile_builder b = builder_start(1, "app");
    struct spot s = builder_spot(&b, stack_text);
    struct view *v = view_new(b.p, &(struct view_options){0});
    size_t n = 0;
    const struct shown_frame *stack = view_stack(v, s, &n);
    const struct shown_frame *last = &stack[n - 1];
    bool spins = last->kind == SHOWN_WAIT && last->wait == WAIT_NONE;
    ck_assert_msg(leaf ? spins && str_eq(last->name, leaf) : !spins, "%s: %s", stack_text,
                  last->name);
    view_free(v);
    profile_free(b.p);
}

/* The functions of the table, with the modules that have them. */
static const struct {
    const char *leaf, *function, *module;
} functions[] = {
    {gpu, "cudaDeviceSynchronize", "libcudart.so.12"},
    {gpu, "cudaStreamSynchronize_ptsz", "libcudart.so.12"},
    {gpu, "cudaEventSynchronize", "app"}, /* the runtime is linked statically, as nvcc does */
    {gpu, "cudaThreadSynchronize", "libcudart.so.9"},
    {gpu, "cuCtxSynchronize", "libcuda.so.1"},
    {gpu, "cuStreamSynchronize", "libcuda.so.1"},
    {gpu, "cuEventSynchronize", "libcuda.so.1"},
    {gpu, "hipDeviceSynchronize", "libamdhip64.so.6"},
    {gpu, "hipStreamSynchronize", "libamdhip64.so.6"},
    {gpu, "hipEventSynchronize", "libamdhip64.so.6"},
    {gpu, "hsa_signal_wait_scacquire", "libhsa-runtime64.so.1"},
    {nccl, "ncclProxyProgress", "libnccl.so.2"},
    {nccl, "ncclCommPollEventCallbacks", "libnccl.so.2"},
    {nccl, "waitWorkFifoAvailable", "libnccl.so.2"},
    {nccl, "ncclStrongStreamSynchronize", "libnccl.so.2"},
    {nccl, "ncclSocketWait", "libnccl.so.2"},
    {nccl, "ncclShmemAllgather", "libnccl.so.2"},
    {nccl, "ncclPollProxyResponse", "libtorch_cuda.so"}, /* where NCCL is linked statically */
    {nccl, "ncclRmaProxyProgressThread", "libnccl.so.2"},
    {omp, "gomp_barrier_wait_end", "libgomp.so.1"},
    {omp, "gomp_team_barrier_wait_final", "libgomp.so.1"},
    {omp, "gomp_simple_barrier_wait", "libgomp.so.1"},
    {omp, "gomp_thread_start", "libgomp.so.1"},
    {omp_lock, "gomp_mutex_lock_slow", "libgomp.so.1"},
    {omp_lock, "GOMP_critical_start", "libgomp.so.1"},
    {omp_lock, "GOMP_critical_name_start", "libgomp-e985bcbb.so.1.0.0"},
    {omp_lock, "omp_set_lock", "libgomp.so.1"},
    {omp_lock, "__kmpc_critical_with_hint", "libomp.so.5"},
    {omp_lock, "__kmpc_set_lock", "libiomp5.so"},
    {omp, "gomp_team_end", "libgomp.so.1"},
    {omp, "GOMP_barrier", "libgomp.so.1"},
    {omp, "GOMP_parallel", "libgomp.so.1"},
    {omp, "GOMP_loop_end", "libgomp.so.1"},
    {omp, "GOMP_loop_end_cancel", "libgomp.so.1"},
    {omp, "GOMP_sections_end", "libgomp.so.1"},
    {omp, "GOMP_single_copy_start", "libgomp.so.1"},
    {omp, "GOMP_doacross_wait", "libgomp.so.1"},
    {omp, "GOMP_taskwait", "libgomp.so.1"},
    {omp, "GOMP_taskgroup_end", "libgomp.so.1"},
    {omp, "__kmp_hyper_barrier_release", "libomp.so.5"},
    {omp, "__kmp_tree_barrier_gather", "libomp.so.5"},
    {omp, "__kmp_linear_barrier_gather", "libomp.so.5"},
    {omp, "__kmp_dist_barrier_wakeup", "libomp.so.5"},
    {omp, "__kmp_fork_barrier", "libiomp5.so"},
    {omp, "__kmp_join_barrier", "libiomp5.so"},
    {omp, "__kmp_barrier", "libiomp5.so"},
    {omp, "__kmp_wait_template", "libiomp5.so"},
    {omp, "__kmp_flag_wait_64", "libiomp5.so"},
    {omp, "__kmpc_barrier", "libiomp5.so"},
    {omp, "__kmpc_fork_call", "libiomp5.so"},
    {omp, "__kmpc_omp_taskwait", "libiomp5.so"},
    {omp, "__kmpc_omp_taskwait_deps_51", "libiomp5.so"},
    {omp, "__kmpc_omp_wait_deps", "libomp.so.5"},
    {omp, "__kmpc_end_taskgroup", "libomp.so.5"},
    {omp, "__kmpc_cancel_barrier", "libomp.so.5"},
    {omp, "__kmpc_reduce", "libomp.so.5"},
    {omp, "__kmpc_reduce_nowait", "libomp.so.5"},
    {omp, "__kmpc_end_reduce", "libomp.so.5"},
    {omp, "__kmpc_copyprivate", "libomp.so.5"},
    {omp, "__kmp_hierarchical_barrier_release", "libiomp5.so"},
    {tbb,
     "tbb::detail::r1::task_dispatcher::receive_or_steal_task<false, "
     "tbb::detail::r1::outermost_worker_waiter>",
     "libtbb.so.12"},
    {tbb,
     "tbb::detail::r1::task_dispatcher::local_wait_for_all<false, "
     "tbb::detail::r1::external_waiter>",
     "libtbb.so.12"},
    {tbb, "tbb::detail::r1::wait", "libtbb.so.12"},
    {tbb, "tbb::detail::r1::execute_and_wait", "libtbb.so.12"},
    {tbb, "tbb::detail::r1::waiter_base::pause", "libtbb.so.12"},
    {tbb, "tbb::detail::r1::prolonged_pause", "libtbb.so.12"},
    {blas, "blas_thread_server", "libopenblas.so.0"},
    {blas, "exec_blas_async_wait", "libopenblas.so.0"},
    {ucx, "ucp_worker_progress", "libucp.so.0"},
    {ucx, "ucs_callbackq_dispatch", "libuct.so.0"},
    {ucx, "uct_worker_progress", "libuct.so.0"},
    {mpi, "opal_progress", "libopen-pal.so.40"},
    {mpi, "ompi_request_default_wait_all", "libmpi.so.40"},
    {mpi, "ompi_sync_wait_mt", "libopen-pal.so.40"},
    {mpi, "mca_pml_ob1_recv", "mca_pml_ob1.so"},
    {mpi, "mca_pml_ucx_send", "mca_pml_ucx.so"},
    {mpi, "MPID_Progress_wait", "libmpi.so.12"},
    {mpi, "MPIDI_CH3I_Progress", "libmpi.so.12"},
    {mpi, "MPIDI_OFI_progress", "libmpi.so.12"},
    {mpi, "MPIR_Waitall", "libmpi.so.12"},
    {mpi, "MPI_Recv", "libmpich.so.12"},
    {mpi, "PMPI_Recv", "libmpich.so.12"},
    {mpi, "MPI_Mrecv", "libmpich.so.12"},
    {mpi, "MPI_Send", "libmpich.so.12"},
    {mpi, "MPI_Ssend", "libmpich.so.12"},
    {mpi, "MPI_Sendrecv_replace", "libmpich.so.12"},
    {mpi, "MPI_Probe", "libmpich.so.12"},
    {mpi, "MPI_Mprobe", "libmpich.so.12"},
    {mpi, "MPI_Waitany", "libmpich.so.12"},
    {mpi, "MPI_Win_wait", "libmpich.so.12"},
    {mpi, "MPI_Win_fence", "libmpich.so.12"},
    {mpi, "PMPI_Barrier", "libmpi.so.12"},
    {mpi, "MPI_Bcast", "libmpi.so.12"},
    {mpi, "MPI_Gatherv", "libmpi.so.12"},
    {mpi, "MPI_Scatter", "libmpi.so.12"},
    {mpi, "MPI_Allgather", "libmpi.so.12"},
    {mpi, "MPI_Alltoallv", "libmpi.so.12"},
    {lock, "pthread_spin_lock", "libc.so.6"},
};

static void assert_leaf_below(const char *function, const char *module, const char *inside,
                              const char *leaf)
{
    struct text stack = {0};
    text_addf(&stack, "main!app > step!app > %s!%s%s", function, module, inside);
    assert_leaf(stack.s, leaf);
    text_release(&stack);
}

START_TEST(functions_that_wait_are_known)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const char *function = functions[i].function;
        const char *module = functions[i].module;
        assert_leaf_below(function, module, "", functions[i].leaf);
        assert_leaf_below(function, module, " > clock_gettime!libc.so.6", functions[i].leaf);
        assert_leaf_below(function, module, " > sched_yield!libc.so.6", functions[i].leaf);
    }
}
END_TEST

/* Code inside of a wait works, whoever called it: a task, a call-back, a copy. */
START_TEST(work_inside_of_a_wait_is_no_spinning)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const char *function = functions[i].function;
        const char *module = functions[i].module;
        assert_leaf_below(function, module, " > task!app", NULL);
        assert_leaf_below(function, module, " > dgemm!libmkl_core.so.2", NULL);
        assert_leaf_below(function, module, " > task@/src/a.py:1:2", NULL);
        assert_leaf_below(function, module, " > memcpy!libc.so.6", NULL);
        assert_leaf_below(function, module, " > malloc!libc.so.6", NULL);
        assert_leaf_below(function, module, " > 0x7f0010", NULL);
        assert_leaf_below(function, module, " > futex [blocked]", NULL);
        assert_leaf_below(function, module, " > [waiting for cpu]", NULL);
    }
}
END_TEST

static const struct {
    const char *leaf, *stack;
} stacks[] = {
    {gpu, "f@/a.py:1:2 > synchronize@/usr/lib/python3/dist-packages/torch/cuda.py:1:2 > "
          "cudaStreamSynchronize!libcudart.so.12 > cuStreamSynchronize!libcuda.so.1 > "
          "cuda_inner!libcuda.so.1 > ioctl!libc.so.6"},
    {gpu, "main!app > cudaDeviceSynchronize!app > __cudart516!app > "
          "cuCtxSynchronize!libcuda.so.1 > clock_gettime!libc.so.6"},
    /* Asks, and does not wait. */
    {NULL, "main!app > cudaGetDeviceProperties!libcudart.so.12"},
    {NULL, "main!app > cudaLaunchKernel!libcudart.so.12 > inner!libcuda.so.1"},
    /* A call-back in a stream: work, though the driver is below it. */
    {NULL, "start_thread!libc.so.6 > inner!libcuda.so.1 > on_done!app > cuMemFree!libcuda.so.1"},
    {mpi, "main!app > MPI_Allreduce!libmpi.so.40 > opal_progress!libopen-pal.so.40 > "
          "mca_btl_vader_component_progress!mca_btl_vader.so"},
    {mpi, "main!app > MPI_Wait!libmpi.so.40 > opal_progress!libopen-pal.so.40 > "
          "ucp_worker_progress!libucp.so.0 > uct_mm_iface_progress!libuct.so.0"},
    /* Packs a message of strides. */
    {NULL, "main!app > MPI_Send!libmpi.so.40 > mca_pml_ob1_send!mca_pml_ob1.so > "
           "opal_convertor_pack!libopen-pal.so.40 > opal_generic_simple_pack!libopen-pal.so.40"},
    {NULL, "main!app > MPI_Send!libmpi.so.40 > ucs_memcpy_relaxed!libucs.so.0"},
    {omp, "main!app > sum!app > GOMP_parallel!libgomp.so.1 > inner!libgomp.so.1"},
    /* A stripped worker: nothing but the library up to the root. */
    {omp, "clone3!libc.so.6 > start_thread!libc.so.6 > outer!libgomp.so.1 > inner!libgomp.so.1"},
    {NULL, "start_thread!libc.so.6 > outer!libgomp.so.1 > sum._omp_fn.0!app"},
    {NULL, "start_thread!libc.so.6 > run!app > omp_get_wtime!libgomp.so.1"},
    {omp, "start_thread!libc.so.6 > __kmp_launch_thread!libomp.so.5 > "
          "__kmp_fork_barrier!libomp.so.5 > __kmp_yield!libomp.so.5 > sched_yield!libc.so.6"},
    {NULL, "__kmp_launch_thread!libomp.so.5 > __kmp_invoke_microtask!libomp.so.5 > "
           ".omp_outlined.!app > sin!libm.so.6"},
    {blas, "start_thread!libc.so.6 > blas_thread_server!libopenblas.so > sched_yield!libc.so.6"},
    {NULL, "start_thread!libc.so.6 > blas_thread_server!libopenblas.so > "
           "dgemm_kernel_HASWELL!libopenblas.so"},
    /* The same of TBB, and of OpenBLAS, whose kernels are in the same library. */
    {tbb, "start_thread!libc.so.6 > 0x7f0010!libtbb.so.12 > 0x7f0020!libtbb.so.12"},
    {NULL, "start_thread!libc.so.6 > 0x7f0010!libtbb.so.12 > run_task!app"},
    {blas, "start_thread!libc.so.6 > 0x7f0010!libopenblas.so.0 > sched_yield!libc.so.6"},
    {NULL, "start_thread!libc.so.6 > 0x7f0010!libopenblas.so.0"},
    {yield, "start_thread!libc.so.6 > 0x7f0010!libopenblas.so.0 > take!app > "
            "sched_yield!libc.so.6"},
    /* Stripped MPI libraries; a reduction may compute. */
    {mpi, "main!app > PMPI_Recv!libmpich.so.12 > 0x7f0010!libmpich.so.12"},
    {NULL, "main!app > PMPI_Allreduce!libmpich.so.12 > 0x7f0010!libmpich.so.12"},
    {mpi, "main!app > MPI_Allreduce!libmpi.so.40 > opal_progress!libopen-pal.so.40 > "
          "epoll_wait!libc.so.6"},
    {mpi, "main!app > MPI_Allreduce!libmpi.so.40 > mca_pml_ob1_recv!mca_pml_ob1.so > "
          "sched_yield!libc.so.6"},
    {NULL, "main!app > MPI_Iprobe!libmpich.so.12"},
    /* Anybody may call a function wait(). */
    {NULL, "main!app > wait!app"},
    {NULL, "main!app > mylib::r1::wait!app"},
    {yield, "main!app > take!app > sched_yield!libc.so.6"},
    {yield, "main@/a.py:1:2 > sched_yield!libc.so.6"},
    {NULL, "main!app > take!app"},
    {NULL, "main!app > clock_gettime!libc.so.6"},
};

START_TEST(stacks_are_judged_by_what_is_inside)
{
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        assert_leaf(stacks[i].stack, stacks[i].leaf);
}
END_TEST

/* A GPU's driver sleeps in whatever call it likes. */
START_TEST(who_waits_for_a_gpu_asleep_is_shown_so)
{
    static const char asleep[] = "[waits for GPU]";
    static const struct {
        const char *leaf, *stack;
    } cases[] = {
        {asleep, "step!app > cuEventSynchronize!libcuda.so.1 > 0x7f0010!libcuda.so.1 > "
                 "poll!libc.so.6 > poll [blocked]"},
        {asleep, "cudaStreamSynchronize!app > libcudart_static_41db!app > "
                 "cuStreamSynchronize!libcuda.so.1 > pthread_cond_wait!libc.so.6 > "
                 "futex [blocked]"},
        {asleep, "cuCtxSynchronize!libcuda.so.1 > ioctl!libc.so.6 > ioctl /dev//nvidiactl "
                 "[blocked]"},
        {"futex [blocked]", "cuStreamSynchronize!libcuda.so.1 > 0x7f0010!libcuda.so.1 > "
                            "pthread_mutex_lock!libc.so.6 > futex [blocked]"}, /* somebody has it */
        {"poll [blocked]", "cuEventSynchronize!libcuda.so.1 > on_done!app > poll!libc.so.6 > "
                           "poll [blocked]"},
        {"ioctl [blocked]", "cuMemAlloc_v2!libcuda.so.1 > ioctl!libc.so.6 > ioctl [blocked]"},
        {"[waiting for cpu]", "cuCtxSynchronize!libcuda.so.1 > [waiting for cpu]"},
        {"futex [blocked]", "main!app > gomp_barrier_wait_end!libgomp.so.1 > futex [blocked]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shown_stack s = builder_shown(cases[i].stack);
        ck_assert_str_eq(s.frames[s.n - 1].name, cases[i].leaf);
        ck_assert(s.frames[s.n - 2].kind == SHOWN_NATIVE);
        builder_shown_release(&s);
    }
}
END_TEST

CHECK_MAIN("spinning", 20, functions_that_wait_are_known, work_inside_of_a_wait_is_no_spinning,
           stacks_are_judged_by_what_is_inside, who_waits_for_a_gpu_asleep_is_shown_so)
