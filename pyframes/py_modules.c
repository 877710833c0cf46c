#include "pyframes/py_modules.h"

#include "pyframes/py_dict.h"
#include "pyframes/py_interpreters.h"

int py_module_find(const struct py_runtime *rt, struct mem *live, const char *module,
                   const char *name, uint64_t *ret)
{
    enum { MODULE_DICT = 8 }; /* md_dict, behind the object's type */
    const struct py_layout *l = &rt->layout;
    uint64_t interp, modules, object, dict;
    int r = py_interpreters_main(rt, live, &interp);
    if (r == 0)
        r = mem_read_u64(live, interp + l->interp.modules, &modules);
    if (r == 0)
        r = py_dict_look_up(l, live, modules, module, &object);
    if (r == 0)
        r = mem_read_u64(live, object + l->object.type + MODULE_DICT, &dict);
    return r != 0 ? r : py_dict_look_up(l, live, dict, name, ret);
}
