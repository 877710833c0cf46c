#pragma once

int wait_without_cfi(int ms);
