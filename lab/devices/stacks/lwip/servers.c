/* lwIP's own programs, and what they read and write. */
#include "device.h"
#include "lwip/apps/fs.h"
#include "lwip/apps/http_client.h"
#include "lwip/apps/httpd.h"
#include "lwip/apps/lwiperf.h"
#include "lwip/apps/mqtt.h"
#include "lwip/apps/tftp_client.h"
#include "lwip/apps/tftp_server.h"
#include "lwip/timeouts.h"
#include "tcpecho_raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void leave(void *argument)
{
    (void)argument;
    exit(0);
}

/* A file of httpd: `octets` from flash, `chunk` octets each `pause` ms (0: at once), after `think` ms. */
struct reading {
    long left;
    int is_ready;
    fs_wait_cb then;
    void *argument;
};

static void read_later(void *argument)
{
    struct reading *it = argument;
    fs_wait_cb then = it->then;
    it->is_ready = 1;
    it->then = NULL;
    if (then) {
        then(it->argument);
    }
}

static int wait_for(struct reading *it, int ms, fs_wait_cb then, void *argument)
{
    if (!it->then) {
        sys_timeout((u32_t)ms, read_later, it);
    }
    it->then = then;
    it->argument = argument;
    return FS_READ_DELAYED;
}

int fs_open_custom(struct fs_file *file, const char *name)
{
    (void)name;
    struct reading *it = calloc(1, sizeof *it);
    memset(file, 0, sizeof *file);
    it->left = set.octets;
    it->is_ready = !set.think && !set.pause;
    file->pextension = it;
    file->len = (int)set.octets;
    return 1;
}

void fs_close_custom(struct fs_file *file)
{
    sys_untimeout(read_later, file->pextension);
    free(file->pextension);
}

u8_t fs_canread_custom(struct fs_file *file) { return (u8_t)((struct reading *)file->pextension)->is_ready; }

u8_t fs_wait_read_custom(struct fs_file *file, fs_wait_cb then, void *argument)
{
    struct reading *it = file->pextension;
    int ms = it->left == set.octets && set.think ? set.think : set.pause;
    wait_for(it, ms ? ms : 1, then, argument);
    return 1;
}

int fs_read_async_custom(struct fs_file *file, char *buffer, int count, fs_wait_cb then, void *argument)
{
    struct reading *it = file->pextension;
    if (!it->is_ready) {
        return wait_for(it, set.pause, then, argument);
    }
    int most = set.chunk && set.chunk < count ? set.chunk : count;
    int size = it->left < most ? (int)it->left : most;
    memset(buffer, 'x', (size_t)size);
    it->left -= size;
    file->index += size;
    it->is_ready = !set.pause;
    return size;
}

/* Posted files are written to flash. */
static void *poster;
static u32_t held;

static void written(void *argument)
{
    (void)argument;
    u32_t size = held > 60000 ? 60000 : held;
    held -= size;
    if (poster && size) {
        httpd_post_data_recved(poster, (u16_t)size);
    }
}

err_t httpd_post_begin(void *connection, const char *uri, const char *request, u16_t length, int content, char *response, u16_t room, u8_t *automatic)
{
    (void)uri, (void)request, (void)length, (void)content;
    poster = connection;
    held = 0;
    *automatic = 0;
    snprintf(response, room, "/done");
    return ERR_OK;
}

err_t httpd_post_receive_data(void *connection, struct pbuf *p)
{
    static u32_t until;
    (void)connection;
    int ms = erase_due(p->tot_len);
    held += p->tot_len;
    pbuf_free(p);
    if (ms) {
        until = sys_now() + (u32_t)ms;
        sys_timeout((u32_t)ms, written, NULL);
    } else if ((s32_t)(sys_now() - until) >= 0) {
        written(NULL);
    }
    return ERR_OK;
}

void httpd_post_finished(void *connection, char *response, u16_t room)
{
    (void)connection;
    poster = NULL;
    snprintf(response, room, "/done");
}

/* TFTP: a file of `octets`. */
static long at;

static void *tftp_begin(const char *name, const char *mode, u8_t is_write)
{
    (void)name, (void)mode, (void)is_write;
    at = 0;
    return &at;
}

static void tftp_end(void *handle) { (void)handle; printf("{\"tftp\": %ld}\n", at); fflush(stdout); is("tftpc") ? sys_timeout(400, leave, NULL) : (void)0; }

static int tftp_read_some(void *handle, void *to, int count)
{
    (void)handle;
    int size = set.octets - at < count ? (int)(set.octets - at) : count;
    memset(to, 't', (size_t)size);
    at += size;
    return size;
}

static int tftp_write_some(void *handle, struct pbuf *p)
{
    (void)handle;
    at += p->tot_len;
    if (set.think) {
        stand_still(set.think);
    }
    erase_due(p->tot_len);
    return 0;
}

static void tftp_failed(void *handle, int error, const char *message, int size) { (void)handle, (void)message, (void)size; printf("tftp error %d\n", error); } 

static const struct tftp_context files = {tftp_begin, tftp_end, tftp_read_some, tftp_write_some, tftp_failed};

static void report(void *argument, enum lwiperf_report_type type, const ip_addr_t *own, u16_t own_port, const ip_addr_t *peer, u16_t peer_port, u32_t octets,
                   u32_t ms, u32_t kbits)
{
    (void)argument, (void)own, (void)own_port, (void)peer, (void)peer_port;
    if (is("lwiperf-client")) {
        sys_timeout(400, leave, NULL);
    }
    printf("{\"lwiperf\": %u, \"octets\": %u, \"ms\": %u, \"kbits\": %u}\n", (unsigned)type, (unsigned)octets, (unsigned)ms, (unsigned)kbits);
    fflush(stdout);
}

/* MQTT: a value of `chunk` octets each `pause` ms, `count` times. */
static mqtt_client_t *client;
static int published;

static void publish(void *argument)
{
    static char value[2048];
    (void)argument;
    if (published++ >= set.count) {
        mqtt_disconnect(client);
        printf("{\"published\": %d}\n", published - 1);
        fflush(stdout);
        sys_timeout(400, leave, NULL);
        return;
    }
    memset(value, '7', sizeof value);
    mqtt_publish(client, "plant/4/level", value, (u16_t)set.chunk, 1, 0, NULL, NULL);
    sys_timeout((u32_t)set.pause, publish, NULL);
}

static void mqtt_opened(mqtt_client_t *it, void *argument, mqtt_connection_status_t status)
{
    (void)it, (void)argument;
    if (status == MQTT_CONNECT_ACCEPTED) {
        publish(NULL);
    }
}

/* fetch: lwIP's HTTP client, by name if `think` is set. */
static httpc_connection_t fetching;

static void fetched(void *argument, httpc_result_t result, u32_t octets, u32_t status, err_t error)
{
    (void)argument, (void)status, (void)error;
    printf("{\"fetched\": %u, \"result\": %d}\n", (unsigned)octets, (int)result);
    fflush(stdout);
    sys_timeout(400, leave, NULL);
}

static err_t fetch_some(void *argument, struct altcp_pcb *pcb, struct pbuf *p, err_t error)
{
    (void)argument, (void)error;
    if (p) {
        altcp_recved(pcb, p->tot_len);
        pbuf_free(p);
    }
    return ERR_OK;
}

static void begin_client(void *argument)
{
    (void)argument;
    if (is("lwiperf-client")) {
        lwiperf_start_tcp_client(&set.peer, (u16_t)set.port, LWIPERF_CLIENT, report, NULL);
    } else if (is("mqtt")) {
        static const struct mqtt_connect_client_info_t info = {.client_id = "device", .keep_alive = 60};
        client = mqtt_client_new();
        mqtt_client_connect(client, &set.peer, (u16_t)set.port, mqtt_opened, NULL, &info);
    } else if (is("fetch")) {
        fetching.result_fn = fetched;
        if (set.think) {
            httpc_get_file_dns("update.example.com", (u16_t)set.port, "/data", &fetching, fetch_some, NULL, NULL);
        } else {
            httpc_get_file(&set.peer, (u16_t)set.port, "/data", &fetching, fetch_some, NULL, NULL);
        }
    } else if (is("tftpc")) {
        tftp_init_client(&files);
        if (set.count) {
            tftp_put(tftp_begin("log", "octet", 0), &set.peer, (u16_t)set.port, "log", TFTP_MODE_OCTET);
        } else {
            tftp_get(tftp_begin("data", "octet", 1), &set.peer, (u16_t)set.port, "data", TFTP_MODE_OCTET);
        }
    }
}

void begin_servers(void)
{
    if (is("httpd")) {
        httpd_init();
    } else if (is("tftpd")) {
        tftp_init_server(&files);
    } else if (is("lwiperf")) {
        lwiperf_start_tcp_server_default(report, NULL);
    } else if (is("echo")) {
        tcpecho_raw_init();
    } else {
        sys_timeout(300, begin_client, NULL);
    }
}
