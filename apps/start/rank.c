/* start-rank APPLICATION ...: what mpirun starts for each rank in place of `python3 -m apps APPLICATION ...`.
 *
 * The first of a job's ranks on a node has one Python parent (apps/start/parent.py) forked from the node's prepared
 * process (apps/start/prepared.py), which has imported all that a rank needs. Where there is none, or the environment
 * names another Python or other modules, it starts the parent itself. Each start-rank hands the parent its arguments,
 * working directory, environment and standard streams over a socket in the job's session directory; the parent forks
 * the rank, and start-rank stays as its proxy: it ends as the rank ends, by the same exit code or signal, and the
 * parent ends the rank when its start-rank is gone. Signals that end a job need no forwarding, therefore.
 *
 * Without mpirun, or alone on a node, it becomes the Python program itself.
 *
 * TESTBED_PYTHON names the Python, by its path or as it is found on PATH; without it, it is /usr/bin/python3.
 * TESTBED_PREPARED names the prepared process's socket; without it, it is the one that a cluster's entry point makes.
 *
 * The message: a header line "ARGUMENTS BYTES\n", padded to HEADER_BYTES, with the streams attached; then BYTES bytes of
 * strings, each ended by a zero: the arguments, the working directory, the environment. The answer: the rank's status
 * as wait(2) gives it, in 4 bytes of this host. The prepared process gets the same message, with the number of ranks
 * before the arguments, and the parent's files in place of the streams; its answer is the end of the connection, when
 * the parent has ended.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PYTHON "/usr/bin/python3"
#define PYTHON_VARIABLE "TESTBED_PYTHON"
#define PREPARED "/run/testbed/prepared/socket"
#define PREPARED_VARIABLE "TESTBED_PREPARED"
#define HEADER_BYTES 64
#define STREAMS 3
#define BACKLOG 1024
#define TRIES 10000
#define PAUSE_NS 1000000L
#define EXIT_FAILED 1
#define OTHERS_WAIT_S 2
#define SENTENCE_BYTES 512

extern char **environ;

/* The parent, if this is the rank that started it or had it forked: its process, or a connection that it keeps open. */
static pid_t parent_pid = 0;
static int parent_connection = -1;

static int made_parent(void)
{
    return parent_pid != 0 || parent_connection >= 0;
}

/* Report why the job fails, as a rank does: to people on standard error, to the broker as an event. */
static void say(const char *form, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list values;
    va_start(values, form);
    vsnprintf(sentence, sizeof sentence, form, values);
    va_end(values);
    printf("{\"event\": \"failed\", \"reason\": \"%s\"}\n", sentence);
    fflush(stdout);
    fprintf(stderr, "%s\n", sentence);
}

static const char *rank(void)
{
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    return number != NULL ? number : "0";
}

static void fail(const char *what)
{
    say("Rank %s could not be started: %s (%s).", rank(), what, strerror(errno));
    exit(EXIT_FAILED);
}

static char *python(void)
{
    char *named = getenv(PYTHON_VARIABLE);
    return named != NULL && *named != 0 ? named : PYTHON;
}

/* Become Python with these words, the first of which names it. */
static void become_python(char **words)
{
    char what[SENTENCE_BYTES];
    execvp(words[0], words);
    snprintf(what, sizeof what, "%s does not run", words[0]);
    fail(what);
}

/* Run the rank in this process, as if mpirun had started Python itself. */
static void run_plainly(int argc, char **argv)
{
    char **words = calloc((size_t)argc + 3, sizeof *words);
    if (words == NULL)
        fail("no memory for its arguments");
    words[0] = python();
    words[1] = "-m";
    words[2] = "apps";
    memcpy(words + 3, argv + 1, (size_t)argc * sizeof *words);
    become_python(words);
}

/* Find the socket at which the ranks of this job meet on this node; return 0 if there is none. */
static int meeting_place(struct sockaddr_un *place)
{
    const char *folder = getenv("PMIX_SERVER_TMPDIR"), *name = getenv("PMIX_NAMESPACE");
    const char *ranks = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (folder == NULL || name == NULL || ranks == NULL || atoi(ranks) < 2)
        return 0;
    memset(place, 0, sizeof *place);
    place->sun_family = AF_UNIX;
    int length = snprintf(place->sun_path, sizeof place->sun_path, "%s/start-%s", folder, name);
    return length > 0 && (size_t)length < sizeof place->sun_path;
}

static void send_all(int connection, const char *bytes, size_t left)
{
    while (left > 0) {
        ssize_t sent = send(connection, bytes, left, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            fail("its parent does not listen");
        if (sent > 0) {
            bytes += sent;
            left -= (size_t)sent;
        }
    }
}

static void send_header(int connection, int arguments, size_t bytes, const int files[STREAMS])
{
    char header[HEADER_BYTES];
    memset(header, ' ', sizeof header);
    int length = snprintf(header, sizeof header, "%d %zu", arguments, bytes);
    header[length] = ' ';
    header[HEADER_BYTES - 1] = '\n';
    union {
        char bytes[CMSG_SPACE(STREAMS * sizeof *files)];
        struct cmsghdr align;
    } control;
    memset(&control, 0, sizeof control);
    struct iovec part = {header, sizeof header};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *attached = CMSG_FIRSTHDR(&message);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    attached->cmsg_len = CMSG_LEN(STREAMS * sizeof *files);
    memcpy(CMSG_DATA(attached), files, STREAMS * sizeof *files);
    ssize_t sent;
    do
        sent = sendmsg(connection, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        fail("its parent does not listen");
    send_all(connection, header + sent, sizeof header - (size_t)sent);
}

/* Send a message with these files attached; its arguments are `first`, if there is one, and those of this program. */
static void hand_over(int connection, const char *first, int argc, char **argv, const int files[STREAMS])
{
    char folder[PATH_MAX];
    if (getcwd(folder, sizeof folder) == NULL)
        fail("it has no working directory");
    size_t bytes = strlen(folder) + 1 + (first != NULL ? strlen(first) + 1 : 0);
    for (int index = 1; index < argc; index++)
        bytes += strlen(argv[index]) + 1;
    for (char **variable = environ; *variable != NULL; variable++)
        bytes += strlen(*variable) + 1;
    char *strings = malloc(bytes), *end = strings;
    if (strings == NULL)
        fail("no memory for its environment");
    if (first != NULL)
        end = stpcpy(end, first) + 1;
    for (int index = 1; index < argc; index++)
        end = stpcpy(end, argv[index]) + 1;
    end = stpcpy(end, folder) + 1;
    for (char **variable = environ; *variable != NULL; variable++)
        end = stpcpy(end, *variable) + 1;
    send_header(connection, argc - 1 + (first != NULL), bytes, files);
    send_all(connection, strings, bytes);
    free(strings);
}

/* Become the Python parent, which listens at `listener` and ends when `life` closes and no rank is left. */
static void become_parent(int listener, int life, int argc, char **argv)
{
    char listener_text[16], life_text[16];
    snprintf(listener_text, sizeof listener_text, "%d", listener);
    snprintf(life_text, sizeof life_text, "%d", life);
    char **words = calloc((size_t)argc + 7, sizeof *words);
    if (words == NULL)
        fail("no memory for its parent's arguments");
    words[0] = python();
    words[1] = "-m";
    words[2] = "apps.start.parent";
    words[3] = listener_text;
    words[4] = life_text;
    words[5] = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    /* The parent needs none of these; the ranks, which look like it to ps, write their command over its own. */
    memcpy(words + 6, argv + 1, (size_t)argc * sizeof *words);
    setpgid(0, 0);
    become_python(words);
}

/* Whether the other end of a connection was opened by this user. */
static int is_own(int connection)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == getuid();
}

/* Whether a process that imported its modules before this job came may run the job's ranks. */
static int may_be_prepared(void)
{
    return strcmp(python(), PYTHON) == 0 && getenv("PYTHONPATH") == NULL && getenv("PYTHONHOME") == NULL;
}

/* Have the parent forked from the node's prepared process; return 0 if there is none. */
static int have_parent_forked(int listener, int life, int argc, char **argv)
{
    const char *named = getenv(PREPARED_VARIABLE);
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    int length = snprintf(place.sun_path, sizeof place.sun_path, "%s", named != NULL && *named ? named : PREPARED);
    if (!may_be_prepared() || (size_t)length >= sizeof place.sun_path)
        return 0;
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0)
        fail("no socket");
    if (connect(connection, (const struct sockaddr *)&place, sizeof place) != 0 || !is_own(connection)) {
        close(connection);
        return 0;
    }
    const int files[STREAMS] = {listener, life, STDERR_FILENO};
    hand_over(connection, getenv("OMPI_COMM_WORLD_LOCAL_SIZE"), argc, argv, files);
    parent_connection = connection;
    return 1;
}

static void make_parent(int listener, int argc, char **argv)
{
    int life[2];
    if (pipe2(life, O_CLOEXEC) != 0)
        fail("no pipe to its parent");
    if (have_parent_forked(listener, life[0], argc, argv)) {
        close(life[0]);
        return;
    }
    parent_pid = fork();
    if (parent_pid < 0)
        fail("its parent could not be forked");
    if (parent_pid == 0) {
        fcntl(listener, F_SETFD, 0);
        fcntl(life[0], F_SETFD, 0);
        become_parent(listener, life[0], argc, argv);
    }
    close(life[0]);
    /* life[1] stays open as long as this process lives. */
}

/* Connect to the parent; the first rank that comes here makes it. */
static int connect_to_parent(const struct sockaddr_un *place, int argc, char **argv)
{
    const struct timespec pause = {0, PAUSE_NS};
    for (int tries = 0; tries < TRIES; tries++) {
        int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connection < 0)
            fail("no socket");
        if (connect(connection, (const struct sockaddr *)place, sizeof *place) == 0) {
            if (is_own(connection))
                return connection;
            errno = EPERM;
            fail("another user listens at the job's meeting place");
        }
        int missing = errno == ENOENT;
        if (missing && !made_parent() && bind(connection, (const struct sockaddr *)place, sizeof *place) == 0) {
            if (listen(connection, BACKLOG) != 0)
                fail("no listening socket");
            make_parent(connection, argc, argv);
            close(connection);
            continue;
        }
        /* Another one is between binding and listening. */
        close(connection);
        nanosleep(&pause, NULL);
    }
    fail("nobody answers at the job's meeting place");
    return -1;
}

/* The rank's status as wait(2) gives it; does not return if the parent ends without sending it. */
static int await_status(int connection)
{
    int status = 0;
    size_t received = 0;
    while (received < sizeof status) {
        ssize_t count = recv(connection, (char *)&status + received, sizeof status - received, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        received += (size_t)count;
    }
    if (received == sizeof status)
        return status;
    /* One rank reports: the others let it end first, and then mpirun ends them. */
    if (made_parent())
        say("The Python process that rank %s and its neighbours were forked from has ended.", rank());
    else
        sleep(OTHERS_WAIT_S);
    exit(EXIT_FAILED);
}

/* Wait until the parent that this process made, which may have other ranks, has ended: as long as a resource manager
 * sees this process, the job has not ended. */
static void await_parent(void)
{
    char nothing;
    if (parent_pid != 0)
        while (waitpid(parent_pid, NULL, 0) < 0 && errno == EINTR)
            ;
    if (parent_connection >= 0)
        while (recv(parent_connection, &nothing, sizeof nothing, 0) < 0 && errno == EINTR)
            ;
}

/* End as the rank did. */
static void end_as(int status)
{
    if (WIFSIGNALED(status)) {
        /* Signals that end a whole job in good order need no explanation here. */
        if (WTERMSIG(status) != SIGTERM && WTERMSIG(status) != SIGINT && WTERMSIG(status) != SIGHUP)
            say("Rank %s was ended by signal %d (%s).", rank(), WTERMSIG(status), strsignal(WTERMSIG(status)));
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    if (status == 0)
        await_parent();
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED);
}

int main(int argc, char **argv)
{
    struct sockaddr_un place;
    if (!meeting_place(&place))
        run_plainly(argc, argv);
    int connection = connect_to_parent(&place, argc, argv);
    const int streams[STREAMS] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    hand_over(connection, NULL, argc, argv, streams);
    /* The streams are the rank's now: what reads them sees their end when the rank ends. */
    end_as(await_status(connection));
}
