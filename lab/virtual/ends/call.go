package ends

// #include <stddef.h>
// #include <stdint.h>
// size_t smoltcp_call(const uint8_t *call, size_t octets, uint8_t *answer, size_t room);
// size_t mongoose_call(const uint8_t *call, size_t octets, uint8_t *answer);
import "C"

import "unsafe"

func octets(data []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.Pointer(&data[0])) }

func callSmoltcp(call, answer []byte) int {
	return int(C.smoltcp_call(octets(call), C.size_t(len(call)), octets(answer), C.size_t(len(answer))))
}

func callMongoose(call, answer []byte) int {
	return int(C.mongoose_call(octets(call), C.size_t(len(call)), octets(answer)))
}
