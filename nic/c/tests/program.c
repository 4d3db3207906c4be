/* A program that links the library and calls it as the header declares. There is no device: a block of memory that is not
 * one takes its place. */

#include "linerate_nic.h"

#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: %s\n", __LINE__, #condition);                                                             \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

static uint64_t state[LINERATE_NIC_VIRTIO_STATE / 8];
static uint8_t memory[LINERATE_NIC_VIRTIO_MEMORY + 64] __attribute__((aligned(64)));
/* Registers of no device: virtio's magic value is wrong. */
static uint32_t registers[1024];

static bool never(void *context, uint8_t *frame, size_t octets)
{
    (void)context, (void)frame, (void)octets;
    return true;
}

int main(void)
{
    linerate_nic_setup setup = {state, sizeof state, memory, sizeof memory - 64, {2, 0, 0, 0, 0, 1}, NULL, NULL};
    uintptr_t base = (uintptr_t)registers;
    linerate_nic *nic = (linerate_nic *)state;

    /* The memory that the header states is enough: only the device is missing. */
    CHECK(linerate_nic_virtio(&nic, &setup, base) == LINERATE_NIC_FAILED);
    CHECK(nic == NULL);

    /* Each member of the setup is read from its place. */
    setup.memory_octets = 4096;
    CHECK(linerate_nic_virtio(&nic, &setup, base) == LINERATE_NIC_TOO_SMALL);
    setup.memory_octets = sizeof memory - 64;
    setup.memory = memory + 8;
    CHECK(linerate_nic_virtio(&nic, &setup, base) == LINERATE_NIC_TOO_SMALL);
    setup.memory = NULL;
    CHECK(linerate_nic_virtio(&nic, &setup, base) == LINERATE_NIC_TOO_SMALL);
    setup.memory = memory;
    setup.state_octets = 8;
    CHECK(linerate_nic_virtio(&nic, &setup, base) == LINERATE_NIC_TOO_SMALL);
    setup.state_octets = sizeof state;
    setup.state = NULL;
    CHECK(linerate_nic_virtio(&nic, &setup, base) == LINERATE_NIC_TOO_SMALL);
    CHECK(linerate_nic_virtio(&nic, NULL, base) == LINERATE_NIC_FAILED);
    CHECK(linerate_nic_virtio(NULL, &setup, base) == LINERATE_NIC_FAILED);

    /* Without a driver nothing happens. */
    linerate_nic_capabilities found;
    linerate_nic_part part = {"frame", 5};
    size_t octets;
    uint32_t count;
    CHECK(!linerate_nic_describe(NULL, &found));
    CHECK(!linerate_nic_receive(NULL, never, NULL));
    CHECK(linerate_nic_lend(NULL, &octets) == NULL);
    CHECK(!linerate_nic_give_back(NULL, memory));
    CHECK(linerate_nic_transmit(NULL, &part, 1) == LINERATE_NIC_NO_ROOM);
    CHECK(!linerate_nic_poll_link(NULL));
    CHECK(!linerate_nic_unmask(NULL));
    linerate_nic_mask(NULL);
    linerate_nic_halt(NULL);
    CHECK(!linerate_nic_resume(NULL));
    CHECK(!linerate_nic_counter(NULL, "RxFrames", &count));
    CHECK(!linerate_nic_counter_at(NULL, 0, NULL, 0, &count));
    printf("all passed\n");
    return 0;
}
