// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

// What Android's MessageQueue and Looper need of their native half, for a plain JVM: a thread waits on an epoll descriptor with an
// eventfd, as on Android; clocks; and answers that nothing is traced or checked. Also how the bench places its threads.

#define _GNU_SOURCE
#include <errno.h>
#include <jni.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct queue {
    int epoll, wake;
    volatile int polling;
};

static struct queue *of(jlong pointer) { return (struct queue *)(intptr_t)pointer; }

static jlong now_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (jlong)time.tv_sec * 1000000000 + time.tv_nsec;
}

JNIEXPORT jlong JNICALL Java_android_os_MessageQueue_nativeInit(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    struct queue *queue = calloc(1, sizeof *queue);
    queue->epoll = epoll_create1(EPOLL_CLOEXEC);
    queue->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(queue->epoll, EPOLL_CTL_ADD, queue->wake, &event);
    return (jlong)(intptr_t)queue;
}

JNIEXPORT void JNICALL Java_android_os_MessageQueue_nativeDestroy(JNIEnv *env, jclass class, jlong pointer) {
    (void)env, (void)class;
    close(of(pointer)->epoll);
    close(of(pointer)->wake);
    free(of(pointer));
}

JNIEXPORT void JNICALL Java_android_os_MessageQueue_nativePollOnce(JNIEnv *env, jobject self, jlong pointer, jint timeout) {
    (void)env, (void)self;
    struct queue *queue = of(pointer);
    struct epoll_event event;
    queue->polling = 1;
    int ready = epoll_wait(queue->epoll, &event, 1, timeout);
    queue->polling = 0;
    uint64_t count;
    if (ready > 0 && read(queue->wake, &count, sizeof count) < 0) errno = 0;
}

JNIEXPORT void JNICALL Java_android_os_MessageQueue_nativeWake(JNIEnv *env, jclass class, jlong pointer) {
    (void)env, (void)class;
    uint64_t one = 1;
    if (write(of(pointer)->wake, &one, sizeof one) < 0) errno = 0;
}

JNIEXPORT jboolean JNICALL Java_android_os_MessageQueue_nativeIsPolling(JNIEnv *env, jclass class, jlong pointer) {
    (void)env, (void)class;
    return of(pointer)->polling != 0;
}

JNIEXPORT void JNICALL Java_android_os_MessageQueue_nativeSetFileDescriptorEvents(JNIEnv *env, jclass class, jlong pointer,
                                                                                  jint fd, jint events) {
    (void)env, (void)class, (void)pointer, (void)fd, (void)events;
}

JNIEXPORT jlong JNICALL Java_android_os_SystemClock_uptimeMillis(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    return now_ns(CLOCK_MONOTONIC) / 1000000;
}

JNIEXPORT jlong JNICALL Java_android_os_SystemClock_uptimeNanos(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    return now_ns(CLOCK_MONOTONIC);
}

JNIEXPORT jlong JNICALL Java_android_os_Binder_clearCallingIdentity(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    return 0;
}

JNIEXPORT void JNICALL Java_android_os_Binder_restoreCallingIdentity(JNIEnv *env, jclass class, jlong token) {
    (void)env, (void)class, (void)token;
}

JNIEXPORT void JNICALL Java_android_os_Binder_flushPendingCommands(JNIEnv *env, jclass class) {
    (void)env, (void)class;
}

JNIEXPORT jint JNICALL Java_android_os_Binder_getCallingUid(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    return 0;
}

JNIEXPORT jlong JNICALL Java_android_os_Trace_nativeGetEnabledTags(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    return 0;
}

JNIEXPORT void JNICALL Java_android_os_Trace_nativeSetAppTracingAllowed(JNIEnv *env, jclass class, jboolean allowed) {
    (void)env, (void)class, (void)allowed;
}

JNIEXPORT jboolean JNICALL Java_android_util_Log_isLoggable(JNIEnv *env, jclass class, jstring tag, jint level) {
    (void)env, (void)class, (void)tag, (void)level;
    return JNI_FALSE;
}

JNIEXPORT jint JNICALL Java_android_util_Log_println_1native(JNIEnv *env, jclass class, jint buffer, jint priority, jstring tag,
                                                             jstring text) {
    (void)env, (void)class, (void)buffer, (void)priority, (void)tag, (void)text;
    return 0;
}

JNIEXPORT jint JNICALL Java_android_os_Process_myTid(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    return (jint)syscall(SYS_gettid);
}

// No property is set: the caller's default holds.
JNIEXPORT jint JNICALL Java_android_os_SystemProperties_native_1get_1int(JNIEnv *env, jclass class, jstring key, jint unset) {
    (void)env, (void)class, (void)key;
    return unset;
}

JNIEXPORT jint JNICALL Java_libcore_io_Linux_getuid(JNIEnv *env, jobject self) {
    (void)env, (void)self;
    return (jint)getuid();
}

JNIEXPORT jint JNICALL Java_libcore_io_Linux_gettid(JNIEnv *env, jobject self) {
    (void)env, (void)self;
    return (jint)syscall(SYS_gettid);
}

// Pins the calling thread and makes it SCHED_FIFO; returns an error number.
JNIEXPORT jint JNICALL Java_Flood_place(JNIEnv *env, jclass class, jint cpu, jint priority) {
    (void)env, (void)class;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    struct sched_param parameters = {.sched_priority = priority};
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) return errno;
    return sched_setscheduler(0, SCHED_FIFO, &parameters) == 0 ? 0 : errno;
}
