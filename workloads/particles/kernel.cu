/* Forces between spheres (the discrete element method): a sphere a thread, which looks at
 * the spheres of the 27 cells around its own. Spheres are sorted by cell; start and end say
 * where a cell's are. They push each other apart like springs, with damping of what they
 * move towards and along each other. */
struct particles {
    float3 origin, cell; /* of the grid; size of a cell */
    float3 collider;     /* one large sphere that does not move */
    float collider_radius, radius, spring, damping, shear, attraction;
    unsigned bits; /* cells along each side: 2^bits */
};

__constant__ struct particles params;

static __device__ __forceinline__ float
dot(float3 a, float3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static __device__ __forceinline__ float3
plus(float3 a, float s, float3 b)
{
    return make_float3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

static __device__ __forceinline__ float3
collide(float3 force, float3 a, float3 b, float3 va, float3 vb, float distance,
        float attraction)
{
    float3 relative = plus(b, -1.0f, a);
    float far = sqrtf(dot(relative, relative));
    if (far < distance) {
        const struct particles &p = params;
        float inverse = 1.0f / far;
        float3 normal = make_float3(relative.x * inverse, relative.y * inverse,
                                    relative.z * inverse);
        float3 velocity = plus(vb, -1.0f, va);
        float3 along = plus(velocity, -dot(velocity, normal), normal);
        force = plus(force, -p.spring * (distance - far), normal);
        force = plus(force, p.damping, velocity);
        force = plus(force, p.shear, along);
        force = plus(force, attraction, relative);
    }
    return force;
}

extern "C" __global__ void
collideD(float4 *new_velocity, const float4 *position, const float4 *velocity,
         const unsigned *index, const unsigned *start, const unsigned *end, unsigned n)
{
    const struct particles &p = params;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 p4 = position[i], v4 = velocity[i];
    float3 at = make_float3(p4.x, p4.y, p4.z), v = make_float3(v4.x, v4.y, v4.z);
    int cx = (int)floorf((at.x - p.origin.x) / p.cell.x);
    int cy = (int)floorf((at.y - p.origin.y) / p.cell.y);
    int cz = (int)floorf((at.z - p.origin.z) / p.cell.z);
    int mask = (1 << p.bits) - 1;
    float3 force = make_float3(0.0f, 0.0f, 0.0f);
#pragma unroll 1
    for (int z = -1; z <= 1; z++)
#pragma unroll 1
        for (int y = -1; y <= 1; y++)
#pragma unroll 1
            for (int x = -1; x <= 1; x++) {
                int cell = ((((cz + z) & mask) << p.bits | ((cy + y) & mask)) << p.bits) |
                           ((cx + x) & mask);
                unsigned first = start[cell];
                if (first == 0xffffffffu)
                    continue;
                unsigned last = end[cell];
                for (unsigned j = first; j < last; j++) {
                    if (j == i)
                        continue;
                    asm volatile("" ::: "memory"); /* constants stay in constant memory */
                    float4 q = position[j], w = velocity[j];
                    force = collide(force, at, make_float3(q.x, q.y, q.z), v,
                                    make_float3(w.x, w.y, w.z), p.radius + p.radius, p.attraction);
                }
            }
    force = collide(force, at, p.collider, v, make_float3(0.0f, 0.0f, 0.0f),
                    p.radius + p.collider_radius, 0.0f);
    new_velocity[index[i]] =
        make_float4(v.x + force.x, v.y + force.y, v.z + force.z, v4.w);
}
